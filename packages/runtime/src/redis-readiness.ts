import type { Redis } from 'ioredis';

/** Facts that a Redis reports about itself. A field is undefined if the server or an access list hides it. */
export interface RedisFacts {
  /** `redis` or `valkey`. */
  product: 'redis' | 'valkey';
  /** The compatible Redis version, such as `7.2.4`; Valkey states one too. */
  version: string | undefined;
  /** The version of the product itself. */
  productVersion: string | undefined;
  /** Names this run of the server: another server, or the same one after a restart, has another. */
  runId: string | undefined;
  role: string | undefined;
  isCluster: boolean;
  /** Whether it is the embedded store, which saves snapshots without reporting them. */
  isEmbedded: boolean;
  maxmemoryPolicy: string | undefined;
  maxmemoryBytes: number | undefined;
  usedMemoryBytes: number | undefined;
  /** Whether the append-only log is on. */
  appendOnly: boolean | undefined;
  /** `always`, `everysec` or `no`. */
  appendFsync: string | undefined;
  /** Snapshot rules; empty when no snapshots are taken. */
  save: string | undefined;
  /** Whether `CONFIG GET` was refused. */
  isConfigForbidden: boolean;
  /** How far the local clock is ahead of the server's, in milliseconds. */
  clockOffsetMs: number;
}

/** `refuse`: do not start. `warn`: start, and log the problem. */
export interface RedisProblem {
  severity: 'refuse' | 'warn';
  message: string;
}

/**
 * Reads the settings of a Redis that decide whether accepted work is kept. Managed services hide some of them. Rejects
 * only when `INFO` or `TIME` fails.
 */
export async function inspectRedis(
  client: Redis,
  localNow: () => number = () => Date.now(),
): Promise<RedisFacts> {
  const sentAt = localNow();
  const [seconds, microseconds] = await client.time();
  const localMs = (sentAt + localNow()) / 2;
  const info = parseInfo(await client.info());
  const config = await readConfig(client);
  const aofEnabled = info.get('aof_enabled');
  return {
    product: info.has('valkey_version') || info.get('server_name') === 'valkey' ? 'valkey' : 'redis',
    version: info.get('redis_version'),
    productVersion: info.get('valkey_version') ?? info.get('redis_version'),
    runId: info.get('run_id'),
    role: info.get('role'),
    isCluster: info.get('cluster_enabled') === '1' || info.get('redis_mode') === 'cluster',
    isEmbedded: info.get('os')?.startsWith('wasi') === true,
    maxmemoryPolicy: info.get('maxmemory_policy') ?? config?.get('maxmemory-policy'),
    maxmemoryBytes: numberOf(info.get('maxmemory')),
    usedMemoryBytes: numberOf(info.get('used_memory')),
    appendOnly: aofEnabled === undefined ? undefined : aofEnabled === '1',
    appendFsync: config?.get('appendfsync'),
    save: config?.get('save'),
    isConfigForbidden: config === undefined,
    clockOffsetMs: Math.round(localMs - (Number(seconds) * 1000 + Number(microseconds) / 1000)),
  };
}

/** How safe a write must be before anybody is told of it; the setting `durability`. */
export type WantedDurability = 'local' | 'fsync' | 'replica';

/**
 * The problems that keep us from promising durability on this Redis. The persistence of an embedded store is not
 * checked, because it keeps snapshots that the server does not report. Messages use Redis's own names of settings.
 */
export function redisProblems(
  facts: RedisFacts,
  {
    isEmbedded = false,
    isCluster,
    durability = 'local',
  }: {
    isEmbedded?: boolean;
    /** Whether the address says that it is a cluster. */
    isCluster: boolean;
    durability?: WantedDurability;
  },
): RedisProblem[] {
  return [
    versionProblem(facts),
    clusterProblem(facts, isCluster),
    roleProblem(facts),
    evictionProblem(facts),
    isEmbedded ? undefined : persistenceProblem(facts),
    durability === 'fsync' ? fsyncProblem(facts) : undefined,
    configProblem(facts),
    clockProblem(facts),
  ].filter((problem) => problem !== undefined);
}

const MINIMUM_VERSION = { major: 6, minor: 2 };
const CLOCK_ALARM_MS = 30_000;

/** `WAITAOF` came with this version. */
const WAITAOF_VERSION = { major: 7, minor: 2 };

interface Version {
  major: number;
  minor: number;
}

/** Whether a server says that it is older; one that does not say counts as new enough. */
function isOlder(version: string | undefined, than: Version): boolean {
  if (version === undefined) return false;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < than.major || (major === than.major && minor < than.minor);
}

function versionProblem({ version }: RedisFacts): RedisProblem | undefined {
  if (!isOlder(version, MINIMUM_VERSION)) return undefined;
  return refuse(
    `Redis ${version} is too old: use Redis ${MINIMUM_VERSION.major}.${MINIMUM_VERSION.minor} or newer, or Valkey.`,
  );
}

function clusterProblem({ isCluster }: RedisFacts, isExpected: boolean): RedisProblem | undefined {
  if (isCluster === isExpected) return undefined;
  return refuse(
    isCluster
      ? 'Redis runs as a cluster: add ?cluster to REDIS_URL, so that the primary of the slot is found.'
      : 'REDIS_URL says ?cluster, and Redis does not run as one: remove it.',
  );
}

function roleProblem({ role }: RedisFacts): RedisProblem | undefined {
  if (role === undefined || role === 'master') return undefined;
  return refuse('Redis is a read-only replica: point REDIS_URL at the primary.');
}

function evictionProblem({ maxmemoryPolicy }: RedisFacts): RedisProblem | undefined {
  if (maxmemoryPolicy === undefined) {
    return warn('Redis does not say its maxmemory-policy: make sure that it is noeviction.');
  }
  if (maxmemoryPolicy === 'noeviction') return undefined;
  return refuse(
    `Redis would delete accepted work when its memory is full (maxmemory-policy is ${maxmemoryPolicy}): set maxmemory-policy to noeviction.`,
  );
}

function persistenceProblem({ appendOnly, appendFsync, save }: RedisFacts): RedisProblem | undefined {
  if (appendOnly === true) {
    if (appendFsync !== 'no') return undefined;
    return warn(
      'Redis leaves writing its log to the system (appendfsync is no): set appendfsync to everysec.',
    );
  }
  if (appendOnly === undefined) {
    return warn('Redis does not say whether it keeps its log on disk: make sure that appendonly is yes.');
  }
  if (save === '') {
    return warn(
      'Redis keeps nothing on disk: a restart of Redis loses all accepted work. Set appendonly to yes.',
    );
  }
  return warn(
    'Redis keeps at most snapshots on disk: a crash of Redis loses accepted work of minutes. Set appendonly to yes.',
  );
}

function fsyncProblem({ version, appendOnly, appendFsync }: RedisFacts): RedisProblem | undefined {
  if (isOlder(version, WAITAOF_VERSION)) {
    return refuse(
      `durability is fsync, which needs Redis ${WAITAOF_VERSION.major}.${WAITAOF_VERSION.minor} or newer, and this is ${version}. On an older one, set appendfsync to always in Redis and durability to local: that is as safe.`,
    );
  }
  if (appendOnly === false) {
    return refuse('durability is fsync, and Redis keeps no log on disk: set appendonly to yes.');
  }
  if (appendFsync !== 'no') return undefined;
  return refuse(
    'durability is fsync, and Redis never asks for its log to be on disk (appendfsync is no): set appendfsync to everysec.',
  );
}

function configProblem({ isConfigForbidden, maxmemoryPolicy }: RedisFacts): RedisProblem | undefined {
  // A missing policy has a warning of its own already.
  if (!isConfigForbidden || maxmemoryPolicy === undefined) return undefined;
  return warn('Redis does not allow CONFIG GET, so its settings for writing to disk could not be checked.');
}

function clockProblem({ clockOffsetMs }: RedisFacts): RedisProblem | undefined {
  if (Math.abs(clockOffsetMs) <= CLOCK_ALARM_MS) return undefined;
  const direction = clockOffsetMs > 0 ? 'ahead of' : 'behind';
  return warn(
    `This machine's clock is ${Math.round(Math.abs(clockOffsetMs) / 1000)} s ${direction} Redis's: set the clocks by NTP.`,
  );
}

function refuse(message: string): RedisProblem {
  return { severity: 'refuse', message };
}

function warn(message: string): RedisProblem {
  return { severity: 'warn', message };
}

function parseInfo(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon > 0 && !line.startsWith('#')) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return fields;
}

/** Undefined when `CONFIG GET` is refused by an access list (NOPERM), or the command is renamed or removed. */
async function readConfig(client: Redis): Promise<Map<string, string> | undefined> {
  const fields = new Map<string, string>();
  try {
    for (const name of ['maxmemory-policy', 'appendfsync', 'save']) {
      const reply: unknown = await client.config('GET', name);
      if (Array.isArray(reply) && typeof reply[1] === 'string') fields.set(name, reply[1]);
    }
  } catch (error) {
    const isRefused =
      error instanceof Error && /NOPERM|unknown command|not allowed|disabled|ERR/i.test(error.message);
    if (!isRefused) throw error;
    return undefined;
  }
  return fields;
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}
