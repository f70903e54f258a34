import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { askRedis } from './ask-redis.ts';
import { freePorts } from './free-ports.ts';
import { serverOnPath } from './local-redis.ts';
import { killServer } from './server-program.ts';
import { eventually } from './wait-until.ts';

const primaries = 3;
const slots = 16_384;

/** A cluster of three primaries, with its own directory. */
export interface LocalCluster {
  /** The primaries, of which the last one has the slot of the service's keys, and behind them its replica, if there is one. */
  nodes: { host: string; port: number; pid: number }[];
  /** Asks a node. */
  ask: (port: number, ...command: [string, ...string[]]) => Promise<unknown>;
  /** Stops the servers and removes the directory. */
  stop(): Promise<void>;
}

/** Starts a cluster with a server, by default with that on the PATH. Check `hasServer` first. */
export async function startLocalCluster({
  withReplica = false,
  program = serverOnPath(),
}: {
  withReplica?: boolean;
  program?: string | undefined;
} = {}): Promise<LocalCluster> {
  if (program === undefined) throw new Error('there is no Redis or Valkey server on the PATH');
  const directory = await mkdtemp(join(tmpdir(), 'sluice-cluster-'));
  const count = primaries + (withReplica ? 1 : 0);
  const ports = await freePorts(count * 2);
  const nodes = ports.slice(0, count).map((port, at) => ({
    host: '127.0.0.1',
    port,
    busPort: ports[count + at] ?? 0,
  }));
  const servers = nodes.map(({ port, busPort }) => startNode(program, directory, port, busPort));
  const stop = async () => {
    await Promise.all(servers.map(killServer));
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await formCluster(nodes);
    return {
      nodes: nodes.map(({ host, port }, at) => ({ host, port, pid: Number(servers[at]?.pid) })), // They have started.
      ask: (port, ...command) => askRedis(port, ...command),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function startNode(program: string, directory: string, port: number, busPort: number): ChildProcess {
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: directory,
    save: '',
    appendonly: 'no',
    ...settingsOfNode({ port, busPort }),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return spawn(program, flags, { stdio: 'ignore' });
}

/** A server that may join a cluster. */
export interface NodeOfCluster {
  host: string;
  port: number;
  /** Where the other nodes speak to it. */
  busPort: number;
}

/** The settings of a server that joins a cluster. */
export function settingsOfNode({ port, busPort }: Omit<NodeOfCluster, 'host'>): Record<string, string> {
  return {
    'cluster-enabled': 'yes',
    'cluster-port': String(busPort),
    'cluster-config-file': `nodes-${port}.conf`,
  };
}

/** Joins servers into one cluster, and gives each of the first three a third of the slots. They may have begun to start only. */
export async function formCluster(nodes: readonly NodeOfCluster[]): Promise<void> {
  const clients = nodes.map(({ host, port }) => new Redis({ host, port, protocol: 2 }));
  for (const client of clients) client.on('error', () => undefined); // Expected until the servers listen.
  try {
    await joinNodes(clients, nodes);
  } finally {
    for (const client of clients) client.disconnect();
  }
}

async function joinNodes(clients: readonly Redis[], nodes: readonly NodeOfCluster[]): Promise<void> {
  for (const [at, client] of clients.slice(0, primaries).entries()) {
    await client.ping();
    const first = Math.floor((slots * at) / primaries);
    const last = Math.floor((slots * (at + 1)) / primaries) - 1;
    await client.call('CLUSTER', 'ADDSLOTSRANGE', String(first), String(last));
  }
  for (const { host, port, busPort } of nodes.slice(1)) {
    await clients[0]?.call('CLUSTER', 'MEET', host, String(port), String(busPort));
  }
  for (const client of clients) {
    await eventually(async () => {
      const info = String(await client.call('CLUSTER', 'INFO'));
      return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes.length}`);
    });
  }
  const replica = clients[primaries];
  if (!replica) return;
  const primary = String(await clients[primaries - 1]?.call('CLUSTER', 'MYID'));
  await eventually(() => replica.call('CLUSTER', 'REPLICATE', primary).then(() => true));
  await eventually(async () => (await replica.info('replication')).includes('master_link_status:up'));
}
