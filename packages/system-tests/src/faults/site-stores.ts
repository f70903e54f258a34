import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  askRedis,
  eventually,
  formCluster,
  freePort,
  freePorts,
  type LocalRedis,
  type NodeOfCluster,
  type RedisProxy,
  settingsOfNode,
  startLocalRedis,
  startRedisProxy,
} from '@sluice/testing';

/** The stores with several primaries: three that know nothing of each other, or a cluster of three. */
export type SeveralPrimaries = 'three primaries' | 'cluster';

/** The stores behind the service. */
export type SiteTopology = 'one primary' | SeveralPrimaries;

/**
 * The cells of a site with three primaries, each with a tenant of its own: rendezvous hashing gives these names their homes there. In a cluster their
 * slots are at different primaries.
 */
export const cellsOfSite = [
  { name: '0', tenant: 'team-1' },
  { name: 'E', tenant: 'team-0' },
  { name: 's', tenant: 'team-6' },
] as const;
export type CellOfSite = 0 | 1 | 2;

/** A primary with its log on disk, and the path to it. */
export interface SiteStore {
  /** As it is now: a restart and a failover make another one. */
  redis: () => LocalRedis;
  proxy: () => RedisProxy;
  /** Starts it again with the same data, at the same port. */
  restart: () => Promise<void>;
  /** Has a new replica take over without a loss, and resolves once it has. */
  failOver: () => Promise<Failover>;
  /** Stops both, and removes the data. */
  stop: () => Promise<void>;
}

export interface Failover {
  /** When it was asked for, by the clock that does not jump, in milliseconds. */
  askedAt: number;
  /** Leads clients to the new primary, and stops the former one. */
  settle: () => Promise<void>;
}

export interface SiteStores {
  /** In the order of their cells. */
  primaries: SiteStore[];
  /** The address of all, by way of their proxies. */
  address: string;
  stop: () => Promise<void>;
}

/** Starts the stores of a site, each primary behind a proxy of its own. */
export async function startStores(topology: SiteTopology): Promise<SiteStores> {
  if (topology === 'cluster') return startCluster();
  const primaries = await Promise.all(
    Array.from({ length: topology === 'one primary' ? 1 : cellsOfSite.length }, async () => {
      const server = await startServer();
      return storeAt({ server, proxy: await startRedisProxy(server.redis.url) }, succeedAtAddress);
    }),
  );
  const addresses = primaries.map((store, at) => {
    const { url } = store.proxy();
    return at === 0 ? url : `${url}?cell=${cellsOfSite[at]?.name}`;
  });
  return { primaries, address: addresses.join(' '), stop: () => stopAll(primaries) };
}

async function startCluster(): Promise<SiteStores> {
  const nodes = await Promise.all(cellsOfSite.map(startNode));
  await formCluster(nodes.map(({ node }) => node));
  const stores = nodes.map(({ place }) => storeAt(place, succeedInCluster));
  const hosts = stores.map((store) => new URL(store.proxy().url).host);
  return {
    primaries: await Promise.all(cellsOfSite.map(({ name }) => ownerOf(name, stores))),
    address: `redis://${hosts[0]}?cluster&cells=${stores.length}&nodes=${hosts.slice(1).join(',')}`,
    stop: () => stopAll(stores),
  };
}

/** The primary that has the slot of a cell. */
async function ownerOf(cell: string, stores: readonly SiteStore[]): Promise<SiteStore> {
  const isOwner = await Promise.all(
    stores.map(async (store) =>
      // It refuses a command for a slot that is not its own.
      askRedis(store.redis().port, 'EXISTS', `{${cell}}`).then(
        () => true,
        () => false,
      ),
    ),
  );
  const owner = stores[isOwner.indexOf(true)];
  if (!owner) throw new Error(`no node of the cluster has the slot of the cell ${cell}`);
  return owner;
}

/** A server with its log on disk, which may be started again. */
interface Server {
  redis: LocalRedis;
  restart: () => Promise<void>;
  stop: () => Promise<void>;
}

async function startServer(given?: number, settings: Readonly<Record<string, string>> = {}): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-faults-'));
  const port = given ?? (await freePort());
  const start = () => startLocalRedis({ directory, port, kind: 'server', settings });
  const server: Server = {
    redis: await start(),
    async restart() {
      server.redis = await start();
    },
    async stop() {
      await server.redis.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
  return server;
}

/** A server and the path to it. */
interface Place {
  server: Server;
  proxy: RedisProxy;
}

/** A node announces its proxy, so that clients go through it whichever node they ask. */
async function startNode(): Promise<{ node: NodeOfCluster; place: Place }> {
  const [port = 0, busPort = 0] = await freePorts(2);
  const node = { host: '127.0.0.1', port, busPort };
  const proxy = await startRedisProxy(`redis://${node.host}:${port}`);
  const announced = {
    'cluster-announce-ip': node.host,
    'cluster-announce-port': new URL(proxy.url).port,
  };
  const server = await startServer(port, { ...settingsOfNode(node), ...announced });
  return { node, place: { server, proxy } };
}

/** Has a new replica take over from a primary, and resolves with its place and with what leads clients there. */
type Succession = (former: Place) => Promise<{ askedAt: number; next: Place; lead: () => void }>;

function storeAt(first: Place, succeed: Succession): SiteStore {
  let place = first;
  return {
    redis: () => place.server.redis,
    proxy: () => place.proxy,
    restart: () => place.server.restart(),
    async failOver() {
      const former = place;
      const { askedAt, next, lead } = await succeed(former);
      place = next;
      return {
        askedAt,
        async settle() {
          lead();
          await former.server.stop();
          if (former.proxy !== next.proxy) await former.proxy.stop();
        },
      };
    },
    async stop() {
      await place.proxy.stop();
      await place.server.stop();
    },
  };
}

/** The replica answers at the address of the former primary, as behind the one name of a managed service. */
const succeedAtAddress: Succession = async ({ server: { redis: former }, proxy }) => {
  const server = await startServer();
  const { port, url } = server.redis;
  await askRedis(port, 'REPLICAOF', '127.0.0.1', String(former.port));
  await untilReplication(former.port, `port=${port},state=online`);
  const askedAt = performance.now();
  await askRedis(former.port, 'FAILOVER', 'TO', '127.0.0.1', String(port));
  await untilReplication(port, 'role:master');
  return {
    askedAt,
    next: { server, proxy },
    lead() {
      proxy.leadTo(url);
      proxy.cut();
    },
  };
};

/** Clients learn from the nodes of the cluster where the slots are now. */
const succeedInCluster: Succession = async ({ server: { redis: former } }) => {
  const { node, place: next } = await startNode();
  await askRedis(former.port, 'CLUSTER', 'MEET', node.host, String(node.port), String(node.busPort));
  const id = String(await askRedis(former.port, 'CLUSTER', 'MYID'));
  await eventually(() => askRedis(node.port, 'CLUSTER', 'REPLICATE', id).then(() => true));
  await untilReplication(node.port, 'master_link_status:up');
  const askedAt = performance.now();
  await askRedis(node.port, 'CLUSTER', 'FAILOVER');
  await untilReplication(node.port, 'role:master');
  return { askedAt, next, lead: () => undefined };
};

async function untilReplication(port: number, line: string): Promise<void> {
  await eventually(async () => String(await askRedis(port, 'INFO', 'replication')).includes(line));
}

async function stopAll(stores: readonly SiteStore[]): Promise<void> {
  for (const store of stores) await store.stop();
}
