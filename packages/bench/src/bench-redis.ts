import { startLocalRedis } from '@sluice/testing';
import { Redis } from 'ioredis';
import { type SpeedControl, speedControl } from './speed-control.ts';

/** How often each command was called so far, calls from scripts included. */
export type CommandCalls = Map<string, number>;

export interface KeyFamily {
  /** The name of the keys with ids replaced. */
  name: string;
  keys: number;
  bytes: number;
}

/** The Redis that all alternatives share. */
export interface BenchRedis {
  url: string;
  version: string;
  /** How it writes to disk, as its configuration says. */
  persistence: string;
  /** Says how fast the machine is. */
  speed: SpeedControl;
  /** CPU time of the server so far, in milliseconds. The server reports it, because it may run elsewhere. */
  cpuTimeMs(): Promise<number>;
  commandCalls(): Promise<CommandCalls>;
  /** Time that commands took so far, in microseconds, without reading and writing them. What a script calls counts twice. */
  commandTimeUs(): Promise<number>;
  usedMemoryBytes(): Promise<number>;
  /** How many responses of a service with one cell wait or run. */
  openResponses(keyPrefix: string): Promise<number>;
  /** Keys under a prefix, grouped by `familyOf`. The size of a family is estimated from samples. */
  keyFamilies(prefix: string, familyOf: (key: string) => string): Promise<KeyFamily[]>;
  /** Sets `appendfsync`. Returns what it was before. */
  setAppendFsync(policy: string): Promise<string>;
  /** Removes every key under a prefix. */
  clear(prefix: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Connects to the Redis of REDIS_URL. Without REDIS_URL, starts a server from the PATH with an append-only log, as in
 * production.
 *
 * @throws {Error} when there is neither. The embedded store is for development, so measuring it would say nothing.
 */
export async function openRedis(givenUrl: string | undefined): Promise<BenchRedis> {
  const local = givenUrl === undefined ? await startLocalRedis({ kind: 'server' }) : undefined;
  const url = givenUrl ?? local?.url ?? '';
  const client = new Redis(url, { protocol: 2 });
  const info = async (section: string) => parseInfo(await client.info(section));
  const server = await info('server');
  const cpuTimeMs = async () => {
    const cpu = await info('cpu');
    return (Number(cpu.get('used_cpu_user')) + Number(cpu.get('used_cpu_sys'))) * 1000;
  };
  return {
    url,
    version: `${server.get('server_name') ?? 'redis'} ${server.get('valkey_version') ?? server.get('redis_version') ?? '?'}`,
    persistence: await persistenceOf(client),
    speed: speedControl(client, cpuTimeMs),
    cpuTimeMs,
    async commandCalls() {
      const stats = await info('commandstats');
      return new Map([...stats].map(([name, stat]) => [name.replace('cmdstat_', ''), callsOf(stat)]));
    },
    async commandTimeUs() {
      const stats = await info('commandstats');
      return [...stats.values()].reduce(
        (sum, stat) => sum + Number(/(?:^|,)usec=(\d+)/.exec(stat)?.[1] ?? 0),
        0,
      );
    },
    usedMemoryBytes: async () => Number((await info('memory')).get('used_memory')),
    openResponses: (keyPrefix) => client.zcard(`${keyPrefix}{0}:open`),
    keyFamilies: (prefix, familyOf) => keyFamilies(client, prefix, familyOf),
    async setAppendFsync(policy) {
      const before = await readSetting(client, 'appendfsync');
      await client.config('SET', 'appendfsync', policy);
      return before;
    },
    async clear(prefix) {
      for await (const keys of scan(client, prefix)) if (keys.length > 0) await client.unlink(...keys);
    },
    async stop() {
      client.disconnect();
      await local?.stop();
    },
  };
}

/** What was called between two readings, except for the readings themselves. */
export function callsBetween(before: CommandCalls, after: CommandCalls): CommandCalls {
  const calls = new Map<string, number>();
  for (const [name, count] of after) {
    const made = count - (before.get(name) ?? 0);
    if (made > 0 && name !== 'info') calls.set(name, made);
  }
  return calls;
}

function parseInfo(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0 && !line.startsWith('#')) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return fields;
}

function callsOf(stat: string): number {
  return Number(/(?:^|,)calls=(\d+)/.exec(stat)?.[1] ?? 0);
}

async function persistenceOf(client: Redis): Promise<string> {
  const names = ['appendonly', 'appendfsync'];
  const settings = await Promise.all(names.map(async (name) => `${name} ${await readSetting(client, name)}`));
  return settings.join(', ');
}

async function readSetting(client: Redis, name: string): Promise<string> {
  // A managed server may refuse CONFIG GET.
  const reply: unknown = await client.config('GET', name).catch(() => []);
  const value: unknown = Array.isArray(reply) ? reply[1] : undefined;
  return typeof value === 'string' ? value : 'unknown';
}

/** The pages of SCAN. The prefix is ours and contains no special characters of a pattern. */
function scan(client: Redis, prefix: string): AsyncIterable<string[]> {
  return client.scanStream({ match: `${prefix}*`, count: 1000 }); // yields the arrays of SCAN
}

/** How many keys of a family are measured. */
const mostSamples = 200;

async function keyFamilies(
  client: Redis,
  prefix: string,
  familyOf: (key: string) => string,
): Promise<KeyFamily[]> {
  const families = new Map<string, string[]>();
  for await (const keys of scan(client, prefix)) {
    for (const key of keys) {
      const name = familyOf(key.slice(prefix.length));
      const members = families.get(name);
      if (members) members.push(key);
      else families.set(name, [key]);
    }
  }
  const sized: KeyFamily[] = [];
  for (const [name, keys] of families) {
    const samples = keys.slice(0, mostSamples);
    const sizes = await Promise.all(samples.map((key) => client.memory('USAGE', key, 'SAMPLES', 0)));
    const bytes = sizes.reduce<number>((total, size) => total + (size ?? 0), 0);
    sized.push({ name, keys: keys.length, bytes: (bytes / samples.length) * keys.length });
  }
  return sized.toSorted((a, b) => b.bytes - a.bytes);
}
