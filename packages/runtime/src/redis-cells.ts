import { firstCell, parseRedisAddress } from './redis-address.ts';

/** A cell of the store, and the address of its primary. */
export interface RedisCell {
  /** One letter or digit, which the id of each response of the cell carries. */
  name: string;
  /** An address with the parameter `cell`, as every client takes it. */
  url: string;
  /** Whether it takes no new responses: those that it has are served until they are gone. */
  isDraining: boolean;
}

/**
 * The names of the cells of a cluster, in the order in which they are taken. For 2, 3, 4, 6 and 8 primaries that share the slots evenly, the slots of
 * the first so many names, and of twice as many, are spread evenly over them; the names 0, 1, 2 would leave one of three primaries idle.
 */
const namesInCluster = Array.from('0Esh17t63lQ524gx');

/** A name for one more cell; undefined when all have been taken. */
export function nextCellName(taken: ReadonlySet<string>): string | undefined {
  return namesInCluster.find((name) => !taken.has(name));
}

/**
 * Reads the addresses of the cells, which are separated by white space: one for each primary, or one of a cluster with `cells=N`, whose names follow
 * from their number. Every address but the first must name its cell. One with `drain` takes no new responses.
 *
 * @throws {RangeError} that says what is wrong with them.
 */
export function parseRedisCells(text: string): RedisCell[] {
  const cells = text
    .split(/\s+/)
    .filter((address) => address !== '')
    .flatMap(cellsOf);
  // One that is empty has the fault of an address.
  if (cells.length === 0) parseRedisAddress(text);
  const names = new Set<string>();
  for (const { name } of cells) {
    if (names.has(name))
      throw new RangeError(
        `has two addresses of the cell '${name}'; give each a name of its own, such as \`cell=E\``,
      );
    names.add(name);
  }
  if (cells.every(({ isDraining }) => isDraining))
    throw new RangeError('drains every cell; leave one that takes new responses');
  return cells;
}

function cellsOf(address: string): RedisCell[] {
  const url = URL.parse(address);
  const count = url?.searchParams.get('cells') ?? undefined;
  const isDraining = url?.searchParams.has('drain') ?? false;
  if (!url || count === undefined)
    return [{ name: parseRedisAddress(address).cell, url: address, isDraining }];
  url.searchParams.delete('cells');
  const { topology } = parseRedisAddress(url.href);
  if (topology.kind !== 'cluster' || url.searchParams.has('cell'))
    throw new RangeError(
      'has `cells` without `cluster`, or beside `cell`; give each primary an address with `cell=`',
    );
  if (!/^\d+$/.test(count) || Number(count) < 1 || Number(count) > namesInCluster.length)
    throw new RangeError(`has \`cells=${count}\`, which must be a number from 1 to ${namesInCluster.length}`);
  if (isDraining) throw new RangeError('has `drain` beside `cells`; give each cell an address with `cell=`');
  return namesInCluster
    .slice(0, Number(count))
    .map((name) => ({ name, url: addressOfCell(url.href, name), isDraining }));
}

/** The address with the name of a cell, which the first one does not need. */
export function addressOfCell(address: string, name: string): string {
  const url = new URL(address);
  if (name === firstCell) url.searchParams.delete('cell');
  else url.searchParams.set('cell', name);
  return url.href;
}

/**
 * The slot of all keys of a cell, which begin with a prefix without braces and the name of the cell as their hash tag: CRC16 of it modulo 16,384 (Redis
 * cluster specification, "Key distribution model").
 */
export function slotOfCell(name: string): number {
  let crc = 0;
  for (const byte of Buffer.from(name)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1)
      crc = ((crc & 0x80_00 ? (crc << 1) ^ 0x10_21 : crc << 1) >>> 0) & 0xff_ff;
  }
  return crc % 16_384;
}
