import { Redis, type RedisOptions } from 'ioredis';
import { parseRedisAddress, type RedisNode, type RedisTopology } from './redis-address.ts';
import { slotOfCell } from './redis-cells.ts';

/** Options of a client that are those of everyone it asks, too. */
type Access = Pick<RedisOptions, 'username' | 'password' | 'tls' | 'family'>;

/** How long one of those who know the primary has for its answer, in milliseconds. */
const askMs = 1_000;

/** The question that is under way for each address: the clients of a process that lose a primary together ask once. */
const underWay = new Map<string, Promise<RedisNode>>();

/** Those who were heard of since the start, by address: a cluster may lose all nodes that the address names. */
const heardOf = new Map<string, RedisNode[]>();

/** Finds the primary of an address each time that a client connects; undefined for an address that is the primary's own. */
export function locatorOf(address: string): ((access: Access) => Promise<RedisNode>) | undefined {
  const { topology, cell } = parseRedisAddress(address);
  if (topology.kind === 'server') return undefined;
  const known = { topology, slot: slotOfCell(cell) };
  return (access) => {
    const asking =
      underWay.get(address) ?? askInTurn(address, known, access).finally(() => underWay.delete(address));
    underWay.set(address, asking);
    return asking;
  };
}

interface Known {
  topology: Exclude<RedisTopology, { kind: 'server' }>;
  /** The slot of the keys that are looked for. */
  slot: number;
}

async function askInTurn(address: string, known: Known, access: Access): Promise<RedisNode> {
  const { topology } = known;
  const nodes = new Map(
    [...topology.nodes, ...(heardOf.get(address) ?? [])].map((node) => [nameOf(node), node]),
  );
  const faults: string[] = [];
  for (const node of nodes.values()) {
    try {
      const { primary, others } = await ask(node, known, access);
      heardOf.set(address, others);
      return primary;
    } catch (error) {
      faults.push(`${nameOf(node)}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(
    `no ${topology.kind === 'cluster' ? 'node' : 'Sentinel'} names a primary: ${faults.join('; ')}`,
  );
}

async function ask(
  node: RedisNode,
  { topology, slot }: Known,
  access: Access,
): Promise<{ primary: RedisNode; others: RedisNode[] }> {
  // The options of the client may have more, such as the connector that asks here.
  const { username, password, tls, family } = access;
  const credentials = topology.kind === 'cluster' ? { username, password } : { password: topology.password };
  const client = new Redis({
    ...node,
    ...Object.fromEntries(
      Object.entries({ ...credentials, tls, family }).filter(
        ([, value]) => value !== undefined && value !== null,
      ),
    ),
    protocol: 2,
    lazyConnect: true,
    connectTimeout: askMs,
    commandTimeout: askMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    enableReadyCheck: false,
  });
  let reason: unknown;
  client.on('error', (error) => (reason = error));
  try {
    await client.connect();
    return topology.kind === 'cluster'
      ? await ownerIn(client, { asked: node, slot })
      : await primaryBy(client, topology.name);
  } catch (error) {
    throw reason ?? error;
  } finally {
    client.disconnect();
  }
}

async function primaryBy(client: Redis, name: string): Promise<{ primary: RedisNode; others: RedisNode[] }> {
  const reply = await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name);
  if (!Array.isArray(reply)) throw new Error(`it knows no primary named '${name}'`);
  const [host, port] = reply.map(String);
  return { primary: { host: host ?? '', port: Number(port) }, others: [] };
}

/** A range of slots: its first and last one, and its nodes, of which the first one is the primary. */
type SlotRange = [first: number, last: number, ...nodes: [host: string | null, port: number][]];

async function ownerIn(
  client: Redis,
  { asked, slot }: { asked: RedisNode; slot: number },
): Promise<{ primary: RedisNode; others: RedisNode[] }> {
  const ranges = (await client.call('CLUSTER', 'SLOTS')) as SlotRange[]; // the form of its reply
  // A node that does not know its own name leaves it out.
  const nodeOf = ([host, port]: [string | null, number]) => ({ host: host || asked.host, port });
  const owner = ranges.find(([first, last]) => first <= slot && slot <= last)?.[2];
  if (!owner) throw new Error(`no node has slot ${slot}: give the cluster all of its slots`);
  return { primary: nodeOf(owner), others: ranges.flatMap(([, , ...nodes]) => nodes.map(nodeOf)) };
}

function nameOf({ host, port }: RedisNode): string {
  return `${host}:${port}`;
}
