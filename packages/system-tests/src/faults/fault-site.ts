import { eventually, type LocalRedis, type RedisProxy } from '@sluice/testing';
import {
  type RunningApi,
  type RunningWorker,
  type Service,
  type SettingsFile,
  startService,
} from '../service.ts';
import { send, type WireAnswer, type WireRequest } from '../wire.ts';
import {
  type CellOfSite,
  cellsOfSite,
  type SiteStore,
  type SiteTopology,
  startStores,
} from './site-stores.ts';
import { type StampedUpstream, startStampedUpstream } from './stamped-upstream.ts';

/** A lock as short as the settings allow, so that a takeover can be measured often. */
export const recovery = { lockMs: 3_000, stalledMs: 500, maxAttempts: 2 };

/** What a machine that does nothing else may add to a time that is promised, in milliseconds. */
const idleMachineMs = 1_000;

/** The key of the tenant whose responses are put at risk. */
export const testerKey = 'sk-faults-0123456789abcdef';

/** The key of a tenant of another cell, where there are several. */
export const neighbourKey = 'sk-neighbour-0123456789ab';

/** How many apis and workers a site has between faults. */
const crew = 2;

/** A question of the checks that has no answer by then has failed, in milliseconds. */
const answeredWithinMs = 30_000;

/**
 * The service as it is deployed: two apis and two workers as built, a Redis with its log on disk, a proxy in the path to
 * it, and an upstream whose tokens name their call. Everything in it can be killed.
 */
export interface FaultSite {
  /** The time that a worker's lock stands, and what the machine may add to a time that is promised, in milliseconds. */
  lockMs: number;
  machineMs: number;
  service: Service;
  upstream: StampedUpstream;
  /** The path to the Redis that meets the faults. */
  proxy: () => RedisProxy;
  /** That Redis, as it is now: a restart and a failover make another one. */
  redis: () => LocalRedis;
  /** The Redis of each cell. */
  stores: () => LocalRedis[];
  /** Whether a tenant of another cell is served meanwhile. */
  hasNeighbour: boolean;
  killRedis: () => Promise<void>;
  restartRedis: () => Promise<void>;
  /** Has a replica take over from that Redis. */
  failOver: SiteStore['failOver'];
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
  /** Default: one primary, or a cluster of three if `SLUICE_TEST_STORE` says `cluster`. */
  topology?: SiteTopology;
  /** How long a worker's lock stands, in milliseconds: a machine that does much else needs a longer one. Default: that of `recovery`. */
  lockMs?: number;
  /** What a loaded machine may add to a time that is promised, in milliseconds. Default: a second. */
  machineMs?: number;
  /** The cell of the tester, whose primary meets the faults, where there are three. Default: the first one. */
  struckCell?: CellOfSite;
}

const topologyOfRun: SiteTopology =
  process.env['SLUICE_TEST_STORE'] === 'cluster' ? 'cluster' : 'one primary';

/** Starts a site. Its processes, its store and its files are gone when it is disposed of. */
export async function startFaultSite(options: FaultSiteOptions = {}): Promise<FaultSite> {
  const { root, settings, env, struckCell = 0, topology = topologyOfRun } = options;
  const { lockMs = recovery.lockMs, machineMs = idleMachineMs } = options;
  const stores = await startStores(topology);
  const struck = stores.primaries[struckCell];
  const [first] = stores.primaries;
  if (!struck || !first) throw new RangeError('There is no such cell');
  const upstream = await startStampedUpstream();
  const routes = [{ provider: 'upstream' }];
  const service = await startService({
    apis: crew,
    workers: crew,
    redisUrl: first.redis().url,
    redisUrlOfProcesses: stores.address,
    ...(root !== undefined && { root }),
    ...(env && { env }),
    settings: {
      keys: keysOf(topology, struckCell),
      recovery: { ...recovery, lockMs },
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
    lockMs,
    machineMs,
    service,
    upstream,
    proxy: () => struck.proxy(),
    redis: () => struck.redis(),
    stores: () => stores.primaries.map(({ redis }) => redis()),
    hasNeighbour: topology !== 'one primary',
    killRedis: () => struck.redis().kill(),
    restartRedis: () => struck.restart(),
    failOver: () => struck.failOver(),
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
      return send(url, { withinMs: answeredWithinMs, ...wanted, key: testerKey });
    },
    async [Symbol.asyncDispose]() {
      try {
        await service.stop();
      } finally {
        await upstream.close();
        await stores.stop();
      }
    },
  };
}

/** The keys of the tester, and of a tenant of another cell where there are several. */
function keysOf(topology: SiteTopology, struckCell: CellOfSite): object[] {
  const limits = { readsPerMinute: 1_000_000 };
  if (topology === 'one primary') return [{ name: 'tester', key: testerKey, limits }];
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
