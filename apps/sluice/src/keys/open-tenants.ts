import type { Settings } from '@sluice/config';
import { DurabilityBarrier, ResponseStore, responseStores } from '@sluice/response-store';
import {
  closeRedis,
  createLogger,
  parseRedisCells,
  requireRedis,
  usedMemoryOf,
  waitForRedis,
  writerClient,
} from '@sluice/runtime';
import { Tenants } from '@sluice/tenants';
import { StoredCells } from '@sluice/wiring';

/** The tenants of a service as an operator reaches them: over Redis itself, whether an api runs or not. */
export interface OpenTenants {
  tenants: Tenants;
  [Symbol.asyncDispose]: () => Promise<void>;
}

/** How long a change may take to reach the disk, by default: a log is usually written each second. */
const onDiskWithinMs = 1500;

/** How long cells beside the first one have for their connection, in milliseconds. */
const cellsWithinMs = 2_000;

/** @throws {FatalError} that says what to change, when Redis cannot be used. */
export async function openTenants(settings: Settings & { redisUrl: string }): Promise<OpenTenants> {
  const { keyPrefix, retention, durability, timeouts } = settings;
  const logger = createLogger({ name: 'operator', level: 'silent' });
  const open = ({ name, url }: { name: string; url: string }) => {
    const commands = writerClient(url, { logger });
    const store = new ResponseStore({ commands, largeValues: commands, keyPrefix, cells: [name], retention });
    return { name, url, commands, store };
  };
  const cells = parseRedisCells(settings.redisUrl).map(open);
  const close = async () => {
    await Promise.all(cells.map(({ commands }) => closeRedis(commands)));
  };
  const [first] = cells;
  if (!first) throw new RangeError('REDIS_URL has no address');
  const connection = first.commands;
  const keysOfFirst = first.store.keys.inCell(first.name);
  try {
    // The keys of a tenant are in the first cell. Its use is in all of them, of which those that are there are asked.
    await requireRedis(connection, { url: first.url, logger, signal: new AbortController().signal });
    const stored = await new StoredCells({ connection, keyPrefix: keysOfFirst.prefix }).read();
    for (const [name, { url }] of stored.cells)
      if (url !== undefined && cells.every((cell) => cell.name !== name)) cells.push(open({ name, url }));
  } catch (error) {
    await close();
    throw error;
  }
  const soon = AbortSignal.timeout(cellsWithinMs);
  await Promise.all(cells.map(({ commands }) => waitForRedis(commands, soon).catch(() => undefined)));
  const store = responseStores(keyPrefix, new Map(cells.map((cell) => [cell.name, cell.store])));
  // It writes something of its own: the change may have been made by another command, and be no safer than it was.
  const barrier = new DurabilityBarrier({
    connection,
    keys: [keysOfFirst.barrier],
    ...(durability === 'local'
      ? { durability: 'fsync', withinMs: onDiskWithinMs }
      : { durability, withinMs: timeouts.durabilityMs }),
  });
  const isSafe = async () => {
    if (durability !== 'local') return barrier.reached();
    // A revocation should survive a crash of Redis. One without a log, or of before 7.2, cannot promise that.
    await barrier.reached().catch(() => undefined);
    return true;
  };
  const tenants = new Tenants({
    settings,
    connection,
    keyPrefix: keysOfFirst.prefix,
    store,
    isSafe,
    logger,
    redisBytes: async () => usedMemoryOf(await connection.info('memory')).limitBytes,
  });
  return { tenants, [Symbol.asyncDispose]: close };
}
