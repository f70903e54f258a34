/** A server of Redis. */
export interface RedisNode {
  host: string;
  port: number;
}

/** The way to the primary: the address is its own, or one of Sentinels or of nodes of a cluster, which know it. */
export type RedisTopology =
  | { kind: 'server' }
  | { kind: 'sentinel'; nodes: RedisNode[]; name: string; password: string | undefined }
  | { kind: 'cluster'; nodes: RedisNode[] };

/** A cell is named by one letter or digit. */
export const cellName = /^[0-9A-Za-z]$/;

/** The cell of an address that names none. */
export const firstCell = '0';

export interface RedisAddress {
  /** The address without the parameters of ours, as clients take it. */
  url: string;
  topology: RedisTopology;
  /** The cell whose keys are there. */
  cell: string;
}

/** The parameters of an address that are ours. */
const parameters = ['cluster', 'sentinel', 'sentinelPassword', 'nodes', 'cell', 'drain'] as const;

/**
 * Reads an address of Redis:
 *
 * - `redis://user:password@host:6379/0` is the primary itself.
 * - `redis://user:password@host:26379?sentinel=NAME` is a Sentinel that knows the primary of this name. User and password are those of the primary;
 *   `sentinelPassword` is that of the Sentinels.
 * - `redis://user:password@host:7000?cluster` is a node of a cluster.
 *
 * `nodes=host:port,host:port` names further Sentinels or nodes, which are asked when the first one does not answer. With `rediss://` all of them are
 * spoken to by TLS. `cell=NAME` names the cell whose keys are there; see `parseRedisCells`.
 *
 * @throws {RangeError} that says what is wrong with it.
 */
export function parseRedisAddress(text: string): RedisAddress {
  const url = URL.parse(text);
  if (!url || !/^rediss?:$/.test(url.protocol) || url.hostname === '')
    throw new RangeError(
      'must be an address such as redis://user:password@127.0.0.1:6379/0 (rediss:// for TLS)',
    );
  const stripped = new URL(url);
  for (const name of parameters) stripped.searchParams.delete(name);
  const given = parametersOf(url);
  const fault = faultOf(given, url.pathname);
  if (fault !== undefined) throw new RangeError(fault);
  const { isCluster, name, password, others, cell } = given;
  const nodes = [first(url, name === undefined ? 6379 : 26_379), ...others.map(parseNode)];
  if (isCluster) return { url: stripped.href, topology: { kind: 'cluster', nodes }, cell };
  return {
    url: stripped.href,
    topology: name === undefined ? { kind: 'server' } : { kind: 'sentinel', nodes, name, password },
    cell,
  };
}

/** The parameters of an address. */
interface Given {
  isCluster: boolean;
  name: string | undefined;
  password: string | undefined;
  others: string[];
  cell: string;
}

function parametersOf({ searchParams }: URL): Given {
  return {
    isCluster: searchParams.has('cluster'),
    name: searchParams.get('sentinel') ?? undefined,
    password: searchParams.get('sentinelPassword') ?? undefined,
    others: searchParams.get('nodes')?.split(',') ?? [],
    cell: searchParams.get('cell') ?? firstCell,
  };
}

/** The fault of parameters that do not go together; undefined without one. */
function faultOf({ isCluster, name, password, others, cell }: Given, path: string): string | undefined {
  const isSentinel = name !== undefined;
  if (isCluster && isSentinel) return 'has the parameters `cluster` and `sentinel`; remove one of them';
  if (name === '')
    return 'has no name after `sentinel=`; give the one that the Sentinels know the primary by';
  if (others.length > 0 && !isCluster && !isSentinel)
    return 'has `nodes` without `cluster` or `sentinel`; add the one that they are';
  if (password !== undefined && !isSentinel) return 'has `sentinelPassword` without `sentinel`; remove it';
  if (isCluster && !/^\/?0?$/.test(path))
    return 'names a database, of which a cluster has one alone; remove the number';
  if (!cellName.test(cell)) return `has \`cell=${cell}\`, which must be one letter or digit`;
  return undefined;
}

function first({ hostname, port }: URL, defaultPort: number): RedisNode {
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) };
}

function parseNode(text: string): RedisNode {
  const [, host = '', port = ''] = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/.exec(text.trim()) ?? [];
  if (host === '' || Number(port) > 65_535)
    throw new RangeError(`has '${text}' among its \`nodes\`, which must be host:port, separated by commas`);
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}
