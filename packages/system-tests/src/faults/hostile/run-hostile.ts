import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { startThread } from '@sluice/runtime';
import { eventually } from '@sluice/testing';
import { Redis } from 'ioredis';
import { atPace } from '../../at-pace.ts';
import { callerOf } from '../../caller.ts';
import { type Service, startService } from '../../service.ts';
import { runningAttempts } from '../../worker-metrics.ts';
import { inspectable, liveHeapMiB } from '../live-heap.ts';
import { resourcesOf } from '../resources.ts';
import { type HostileLoad, hostileLoads, type Kind } from './hostile-loads.ts';
import { type LoadOutcomes, type LoadResult, takeOutcomes } from './load-outcomes.ts';
import type { LoadOrder } from './load-thread.ts';

/** When the quiet tenant sends its requests: as the load begins, while it lasts, and once it is over. */
export const moments = ['as it begins', 'while it lasts', 'afterwards'] as const;
export type Moment = (typeof moments)[number];

/** How long each moment is, in milliseconds. */
const momentMs: Record<Moment, number> = {
  'as it begins': 1_500,
  'while it lasts': 3_500,
  afterwards: 1_500,
};

/** Times that each load is sent, in turn with its control. */
export const rounds = 3;

/** Between two requests of the quiet tenant, in milliseconds. */
export const quietEveryMs = 20;

/** As in the compose file. */
const heapMiB = 768;
const storeBytes = 1024 ** 3;
const slots = 32;

/**
 * What a process may hold beside what it holds at rest, in MiB, by `docs/budgets.md`: bodies and contexts of WebSockets in an
 * api; answers, inputs, and what each slot has for itself in a worker. Callers, which have a budget too, are few here.
 */
export const heapBounds = { api: 128 + 256, worker: 350 + 175 + 44 + slots * 0.5 };

/** A request of the quiet tenant that has no answer by then is a violation, in milliseconds. */
const answeredWithinMs = 30_000;

const quietKey = 'sk-quiet-0123456789abcdef';

/** The keys of the tenants who send a load. */
const loadKeys: Record<Kind, readonly string[]> = {
  hostile: ['sk-hostile-0123456789abcdef'],
  good: Array.from({ length: 10 }, (_, index) => `sk-good-0123456789abcdef-${index}`),
};

export interface HostileCell {
  load: HostileLoad;
  moment: Moment;
  /** How long requests of the quiet tenant took from their due time beside each kind of load, in milliseconds, by round. */
  times: Record<Kind, number[][]>;
}

export interface HostileHeaps {
  mechanism: string;
  /** What is alive in a process after a full collection while the hostile load is under way, in MiB, and its peak of RSS. */
  api: number;
  worker: number;
  rss: { api: number; worker: number };
}

export interface HostileResult {
  cells: HostileCell[];
  heaps: HostileHeaps[];
  outcomes: LoadOutcomes[];
  atRest: { api: number; worker: number };
  violations: string[];
}

export interface HostileOptions {
  redisUrl: string;
  /** Mechanisms whose name contains this. */
  only: string;
  onProgress: (said: string) => void;
}

/**
 * Runs each hostile load in turn with its control, at the heaps and limits of the compose file, while a quiet tenant sends
 * short requests at a pace. All loads are sent by another thread, and answered by a third. Each mechanism has a service and an empty store of its own.
 */
export async function runHostile({ redisUrl, only, onProgress }: HostileOptions): Promise<HostileResult> {
  const thread = startThread(new URL('./load-thread.ts', import.meta.url), {});
  const upstream = startThread(new URL('./load-upstream.ts', import.meta.url), {});
  const [baseUrl] = (await once(upstream, 'message')) as [string]; // all that it says
  const store = new Redis(redisUrl, { protocol: 2 });
  await store.config('SET', 'maxmemory', storeBytes, 'maxmemory-policy', 'noeviction', 'appendonly', 'yes');
  const result: HostileResult = {
    cells: [],
    heaps: [],
    outcomes: [],
    atRest: { api: 0, worker: 0 },
    violations: [],
  };
  try {
    for (const load of hostileLoads.filter(({ mechanism }) => mechanism.includes(only))) {
      await store.flushall();
      await using service = await startSite(redisUrl, baseUrl);
      const outcomes = { mechanism: load.mechanism, came: { hostile: new Map(), good: new Map() } };
      result.outcomes.push(outcomes);
      const site = { thread, service, outcomes, violations: result.violations };
      await probe(service, pause(2_000), result.violations);
      const atRest = await heapsOf(service);
      onProgress(`hostile: ${load.mechanism}, warming up`);
      const warmUp = cellsOf(load); // counts for nothing: a process that has not run a load yet is slower
      for (const kind of ['hostile', 'good'] as const) await runKind(site, { load, kind, cells: warmUp });
      const cells = cellsOf(load);
      for (let round = 1; round <= rounds; round += 1) {
        onProgress(`hostile: ${load.mechanism}, round ${round} of ${rounds}`);
        // Who goes first alternates, so that neither kind always runs behind the other.
        const kinds: Kind[] = round % 2 === 0 ? ['good', 'hostile'] : ['hostile', 'good'];
        for (const kind of kinds) await runKind(site, { load, kind, cells });
      }
      const heaps = await measureHeaps(site, load);
      result.cells.push(...cells);
      result.heaps.push(heaps);
      result.atRest = atRest;
      result.violations.push(...beyondBudgets(heaps, atRest));
    }
  } finally {
    await thread.terminate();
    await upstream.terminate();
    store.disconnect();
  }
  return result;
}

function cellsOf(load: HostileLoad): HostileCell[] {
  return moments.map((moment) => ({ load, moment, times: { hostile: [], good: [] } }));
}

function startSite(redisUrl: string, baseUrl: string): Promise<Service> {
  return startService({
    redisUrl,
    env: { NODE_OPTIONS: `--max-old-space-size=${heapMiB} ${inspectable.NODE_OPTIONS}` },
    settings: {
      keys: [quietKey, ...loadKeys.hostile, ...loadKeys.good].map((key) => ({ name: key.slice(3), key })),
      providers: [{ id: 'upstream', type: 'openai-chat', baseUrl }],
      models: ['fast', 'broken'].map((id) => ({ id, routes: [{ provider: 'upstream' }] })),
      workerConcurrency: slots,
    },
  });
}

interface HostileSite {
  thread: Worker;
  service: Service;
  /** What all loads at this site have come to. */
  outcomes: LoadOutcomes;
  violations: string[];
}

/** Sends a load of one kind, with the quiet tenant beside it, and goes on once nothing of it is under way. */
async function runKind(
  site: HostileSite,
  { load, kind, cells }: { load: HostileLoad; kind: Kind; cells: HostileCell[] },
): Promise<void> {
  const { service, violations } = site;
  const sent = order(site, load, kind, momentMs['as it begins'] + momentMs['while it lasts']);
  const answered: Promise<void>[] = [];
  for (const { moment, times } of cells) {
    if (moment === 'afterwards') {
      await Promise.all([sent, ...answered]);
      await untilIdle(service);
    }
    // A moment ends by the clock. Whoever waited for its last answers would begin the next one when the load is over.
    const over = pause(momentMs[moment]);
    const asked = probe(service, over, violations, `${load.mechanism}, ${kind}`);
    answered.push(asked.then((took) => void times[kind].push(took)));
    await over;
  }
  await Promise.all(answered);
  for (const each of [...service.apis, ...service.workers]) {
    if (!each.isRunning())
      throw new Error(`${load.mechanism} ended a process:\n${each.output().slice(-2_000)}`);
  }
}

/** Resolves when nothing is under way. */
async function untilIdle({ workers }: Service): Promise<void> {
  await eventually(
    async () => {
      const running = await Promise.all(workers.map(({ healthUrl }) => runningAttempts(healthUrl)));
      return running.every((count) => count === 0);
    },
    { timeoutMs: 60_000 },
  );
}

/** Sends a load for some time, and judges what its steps came to. */
async function order(
  { thread, service, outcomes, violations }: HostileSite,
  load: HostileLoad,
  kind: Kind,
  forMs: number,
): Promise<void> {
  const { mechanism, loads } = load;
  const url = service.apiUrls[0] ?? '';
  const keys = loadKeys[kind].slice(0, loads[kind].tenants ?? 1);
  thread.postMessage({ url, keys, mechanism, kind, forMs } satisfies LoadOrder);
  const [result] = (await once(thread, 'message')) as [LoadResult]; // it answers each order once
  violations.push(...takeOutcomes(outcomes, load, kind, result));
}

/** Sends requests for the quiet tenant at its pace until a moment is over. Returns how long each took from its due time, in milliseconds. */
function probe(
  { apiUrls }: Service,
  until: Promise<unknown>,
  violations: string[],
  beside = 'nothing',
): Promise<number[]> {
  const { create } = callerOf(apiUrls[0] ?? '', quietKey);
  const ask = async () => {
    const signal = AbortSignal.timeout(answeredWithinMs);
    const answered = create({ model: 'fast', input: 'Hi' }, { signal });
    const came = await answered.then(({ body }) => body.status, String);
    if (came !== 'completed') violations.push(`beside ${beside} the quiet tenant got ${came}`);
  };
  return atPace(ask, { everyMs: quietEveryMs, until });
}

/** What is alive while the hostile load is under way. A collection takes time, so nobody is timed meanwhile. */
async function measureHeaps(site: HostileSite, load: HostileLoad): Promise<HostileHeaps> {
  const sent = order(site, load, 'hostile', momentMs['while it lasts']);
  await pause(momentMs['as it begins']); // until it is under way
  const rss = await rssOf(site.service);
  const alive = await heapsOf(site.service);
  await sent;
  return { mechanism: load.mechanism, ...alive, rss };
}

async function heapsOf(service: Service): Promise<{ api: number; worker: number }> {
  const [[api], [worker]] = [service.apis, service.workers];
  if (!api || !worker) throw new Error('a process is missing');
  return { api: await liveHeapMiB(api), worker: await liveHeapMiB(worker) };
}

async function rssOf(service: Service): Promise<{ api: number; worker: number }> {
  const [[api], [worker]] = [service.apis, service.workers];
  if (!api || !worker) throw new Error('a process is missing');
  return { api: (await resourcesOf(api.pid)).rssMiB, worker: (await resourcesOf(worker.pid)).rssMiB };
}

/** What a process holds beyond the sum of its budgets has no row in the table. */
function beyondBudgets({ mechanism, ...alive }: HostileHeaps, atRest: HostileResult['atRest']): string[] {
  return (['api', 'worker'] as const).flatMap((role) => {
    const grown = Math.round(alive[role] - atRest[role]);
    return grown > heapBounds[role]
      ? [`${mechanism}: the ${role} holds ${grown} MiB beyond its budgets`]
      : [];
  });
}
