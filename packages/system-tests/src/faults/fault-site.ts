import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  eventually,
  type LocalRedis,
  type RedisProxy,
  startLocalRedis,
  startRedisProxy,
} from '@sluice/testing';
import {
  type RunningApi,
  type RunningWorker,
  type Service,
  type SettingsFile,
  startService,
} from '../service.ts';
import { send, type WireAnswer, type WireRequest } from '../wire.ts';
import { type StampedUpstream, startStampedUpstream } from './stamped-upstream.ts';

/** A lock as short as the settings allow, so that a takeover can be measured often. */
export const recovery = { lockMs: 3_000, stalledMs: 500, maxAttempts: 2 };

/** The key of the tenant whose responses are put at risk. */
export const testerKey = 'sk-faults-0123456789abcdef';

/** The key of a tenant of another cell, where there are several. */
export const neighbourKey = 'sk-neighbour-0123456789ab';

/** How many apis and workers a site has between faults. */
const crew = 2;

/** The cells of a site with several primaries, and a tenant of each: rendezvous hashing gives these names their homes there. */
const cellsOfSite = [
  { name: '0', tenant: 'team-1' },
  { name: 'E', tenant: 'team-0' },
  { name: 's', tenant: 'team-6' },
] as const;

/**
 * The service as it is deployed: two apis and two workers as built, a Redis with its log on disk, a proxy in the path to
 * it, and an upstream whose tokens name their call. Everything in it can be killed.
 */
export interface FaultSite {
  service: Service;
  upstream: StampedUpstream;
  /** The path to the Redis that meets the faults. */
  proxy: RedisProxy;
  /** That Redis, as it is now: a restart makes another one. */
  redis: () => LocalRedis;
  /** The Redis of each cell. */
  stores: () => LocalRedis[];
  /** Whether a tenant of another cell is served meanwhile. */
  hasNeighbour: boolean;
  killRedis: () => Promise<void>;
  restartRedis: () => Promise<void>;
  /** The apis that take requests, without those that were killed or told to stop. */
  apis: () => RunningApi[];
  workers: () => RunningWorker[];
  /** Takes processes off the lists; what becomes of them is the caller's matter. */
  dismiss: (processes: readonly (RunningApi | RunningWorker)[]) => void;
  /** Starts what is missing. */
  refill: () => Promise<void>;
  /** Sends a request of the tester to an api that takes requests; numbers beyond the last one start over. */
  ask: (at: number, wanted: Omit<WireRequest, 'key'>) => Promise<WireAnswer>;
  [Symbol.asyncDispose]: () => Promise<void>;
}

export interface FaultSiteOptions {
  /** The root of another build of the workspace. Default: this one. */
  root?: string;
  /** Overrides settings of the site. */
  settings?: SettingsFile;
  /** Variables of its processes. */
  env?: Record<string, string>;
  /** The cell of the tester, whose primary meets the faults, of three that there are then. Default: there is one primary. */
  struckCell?: 0 | 1 | 2;
}

/** A Redis with its log on disk, and the path to it. */
interface SiteStore {
  directory: string;
  redis: LocalRedis;
  proxy: RedisProxy;
}

async function startStore(): Promise<SiteStore> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-faults-'));
  const redis = await startLocalRedis({ directory, kind: 'server' });
  return { directory, redis, proxy: await startRedisProxy(redis.url) };
}

/** Starts a site. Its processes, its store and its files are gone when it is disposed of. */
export async function startFaultSite(options: FaultSiteOptions = {}): Promise<FaultSite> {
  const { root, settings, env, struckCell } = options;
  const stores = await Promise.all(
    Array.from({ length: struckCell === undefined ? 1 : cellsOfSite.length }, startStore),
  );
  const struck = stores[struckCell ?? 0];
  const [first] = stores;
  if (!struck || !first) throw new RangeError('There is no such cell');
  const addresses = stores.map(({ proxy: { url } }, at) =>
    at === 0 ? url : `${url}?cell=${cellsOfSite[at]?.name}`,
  );
  const upstream = await startStampedUpstream();
  const routes = [{ provider: 'upstream' }];
  const service = await startService({
    apis: crew,
    workers: crew,
    redisUrl: first.redis.url,
    redisUrlOfProcesses: addresses.join(' '),
    ...(root !== undefined && { root }),
    ...(env && { env }),
    settings: {
      keys: keysOf(struckCell),
      recovery,
      drainTimeoutMs: 20_000,
      workerConcurrency: 256,
      providers: [{ id: 'upstream', type: 'openai-chat', baseUrl: upstream.fake.baseUrl }],
      models: [
        { id: 'stamped', routes },
        // One that holds its only place keeps the others queued.
        { id: 'narrow', routes, concurrency: 1 },
      ],
      ...settings,
    },
  });
  const dismiss = (processes: readonly (RunningApi | RunningWorker)[]) => {
    const isStaying = (process: RunningApi | RunningWorker) => !processes.includes(process);
    service.apis.splice(0, service.apis.length, ...service.apis.filter(isStaying));
    service.workers.splice(0, service.workers.length, ...service.workers.filter(isStaying));
  };
  return {
    service,
    upstream,
    proxy: struck.proxy,
    redis: () => struck.redis,
    stores: () => stores.map(({ redis }) => redis),
    hasNeighbour: struckCell !== undefined,
    killRedis: () => struck.redis.kill(),
    async restartRedis() {
      const { directory, redis } = struck;
      struck.redis = await startLocalRedis({ directory, port: redis.port, kind: 'server' });
    },
    apis: () => service.apis,
    workers: () => service.workers,
    dismiss,
    async refill() {
      dismiss([...service.apis, ...service.workers].filter((process) => !process.isRunning()));
      await Promise.all([
        ...Array.from({ length: crew - service.apis.length }, () => service.addApi()),
        ...Array.from({ length: crew - service.workers.length }, () => service.addWorker()),
      ]);
      await eventually(async () => {
        const ready = await Promise.all(service.apiUrls.map(readinessOf));
        // What is missing stands in the message.
        if (ready.some(({ status }) => status !== 200)) throw new Error(JSON.stringify(ready));
        return true;
      });
    },
    ask(at, wanted) {
      const url = service.apiUrls[at % service.apiUrls.length];
      if (url === undefined) throw new Error('no api takes requests');
      return send(url, { ...wanted, key: testerKey });
    },
    async [Symbol.asyncDispose]() {
      try {
        await service.stop();
      } finally {
        await upstream.close();
        for (const { proxy, redis, directory } of stores) {
          await proxy.stop();
          await redis.stop();
          await rm(directory, { recursive: true, force: true });
        }
      }
    },
  };
}

/** The keys of the tester, and of a tenant of another cell where there are several. */
function keysOf(struckCell: number | undefined): object[] {
  const limits = { readsPerMinute: 1_000_000 };
  if (struckCell === undefined) return [{ name: 'tester', key: testerKey, limits }];
  const [here, beside] = [0, 1].map((more) => cellsOfSite[(struckCell + more) % cellsOfSite.length]?.tenant);
  return [
    { name: here, key: testerKey, limits },
    { name: beside, key: neighbourKey, limits },
  ];
}

async function readinessOf(url: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${url}/readyz`);
  return { status: answer.status, text: await answer.text() };
}
