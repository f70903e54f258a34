import { setTimeout as pause } from 'node:timers/promises';
import { eventually, randomFrom } from '@sluice/testing';
import type { RunningApi, RunningWorker } from '../service.ts';
import { type FaultSite, startFaultSite } from './fault-site.ts';
import { inspectable, liveHeapMiB } from './live-heap.ts';
import { follow } from './followed-response.ts';
import { endAndReplace } from './inject.ts';
import { modes } from './matrix.ts';
import { leftovers } from './checks.ts';
import { endOf, isExplained, type Kill } from './soak-ends.ts';
import { type Resources, resourcesOf, slopePerHour, type Sample } from './resources.ts';

export interface SoakOptions {
  minutes: number;
  seed: number;
  onProgress?: (said: string) => void;
}

/** What a process took over the soak, without its warm-up. */
export interface SoakRow {
  /** `api`, `worker`, or `Redis`. */
  process: string;
  /** What was counted. */
  what: keyof Resources;
  first: number;
  last: number;
  /** Least squares, per hour. */
  slope: number;
  /** The slope as a share of the mean. */
  share: number;
}

export interface SoakResult {
  minutes: number;
  responses: number;
  ends: Map<string, number>;
  /** Ends that neither a kill nor the caller explains. Each is a violation. */
  unexplained: Map<string, number>;
  left: number;
  kills: Kill[];
  rows: SoakRow[];
  violations: string[];
}

/** Callers at a time, longest rest of each and longest silence of an upstream, in milliseconds: some ten responses a second. */
const load = { lanes: 6, idleMs: 600, silenceMs: 400 };
/** The share of callers that leave before the end. */
const leaving = 0.1;
const killEveryMs = 60_000;
const sampleEveryMs = 5_000;
/** A full collection stops a process for a moment, so its heap is looked at in some samples alone. */
const samplesPerHeap = 6;
/** Samples before this share of the time are warm-up. */
const warmUp = 0.25;

/**
 * Keeps the service busy: a bounded load, of which some callers leave, and one kill a minute, of an api and a worker in
 * turn. One api and one worker are never killed, and are measured with the store.
 */
export async function runSoak({ minutes, seed, onProgress }: SoakOptions): Promise<SoakResult> {
  // Kept for less than the warm-up, so that what is stored reaches its level in it.
  const keptSeconds = Math.max(1, Math.min(60, Math.floor(minutes * 60 * warmUp * 0.5)));
  await using site = await startFaultSite({
    env: inspectable,
    settings: {
      retention: { responseSeconds: keptSeconds, eventLogSeconds: keptSeconds, idempotencySeconds: 60 },
    },
  });
  const result: SoakResult = {
    minutes,
    responses: 0,
    ends: new Map(),
    unexplained: new Map(),
    left: 0,
    kills: [],
    rows: [],
    violations: [],
  };
  const kept = { api: keptOne(site.apis()), worker: keptOne(site.workers()) };
  const idle = await sampleAll(site, kept);
  const endsAt = performance.now() + minutes * 60_000;
  const isOver = () => performance.now() > endsAt;
  const random = randomFrom(seed);
  const samples: Sample[] = [];
  const begun = performance.now();
  const work = [
    ...Array.from({ length: load.lanes }, (_, lane) =>
      callAgain(site, randomFrom(seed * 31 + lane), result, isOver),
    ),
    killAgain(site, kept, result, isOver),
  ];
  for (let at = 0; !isOver(); at += 1) {
    const heaps = at % samplesPerHeap === 0 ? await heapsOf(kept) : {};
    samples.push(
      ...(await sampleAll(site, kept)).map((each) => ({
        ...each,
        ...heaps[each.process],
        at: performance.now() - begun,
      })),
    );
    onProgress?.(`soak: ${result.responses} responses, ${result.kills.length} kills`);
    await pause(Math.min(sampleEveryMs * (0.9 + random() * 0.2), endsAt - performance.now() + 1)); // the rhythm of the samples
  }
  await Promise.all(work);
  result.rows = rowsOf(samples.filter(({ at }) => at > minutes * 60_000 * warmUp));
  for (const [end, times] of result.unexplained)
    result.violations.push(`${times} responses ended with ${end} while nothing was killed`);
  result.violations.push(...(await leftovers(site)), ...(await notBack(site, kept, idle)));
  return result;
}

interface Kept {
  api: RunningApi;
  worker: RunningWorker;
}

/** The last of a list: faults of an api end the first. */
function keptOne<T>(processes: readonly T[]): T {
  const last = processes.at(-1);
  if (last === undefined) throw new Error('there is no process to measure');
  return last;
}

type Look = Omit<Sample, 'at'>;

async function sampleAll({ service, redis }: FaultSite, { api, worker }: Kept): Promise<Look[]> {
  const { client } = service.redis;
  const clients = /connected_clients:(\d+)/.exec(await client.info('clients'))?.[1];
  return [
    { process: 'api', ...(await resourcesOf(api.pid)) },
    { process: 'worker', ...(await resourcesOf(worker.pid)) },
    {
      process: 'Redis',
      ...(await resourcesOf(redis().pid)),
      keys: await client.dbsize(),
      connections: Number(clients),
    },
  ];
}

/** What is alive in the processes that are measured, by their names. */
async function heapsOf({ api, worker }: Kept): Promise<Record<string, { heapMiB: number }>> {
  const [ofApi, ofWorker] = await Promise.all([liveHeapMiB(api), liveHeapMiB(worker)]);
  return { api: { heapMiB: ofApi }, worker: { heapMiB: ofWorker } };
}

async function callAgain(
  site: FaultSite,
  random: () => number,
  result: SoakResult,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    const prompt = site.upstream.expect(Math.floor(random() * 9));
    const release = setTimeout(prompt.release, random() * load.silenceMs);
    const mode = modes[Math.floor(random() * modes.length)] ?? 'stream';
    const url = site.service.apiUrls[Math.floor(random() * site.service.apiUrls.length)] ?? '';
    const response = follow(site, prompt, { mode, url, patienceMs: 60_000 });
    const isLeaving = random() < leaving;
    const leave = isLeaving ? setTimeout(response.leave, random() * load.silenceMs) : undefined;
    const { told, at } = await response.told;
    clearTimeout(leave);
    clearTimeout(release);
    prompt.release();
    result.responses += 1;
    if (isLeaving) result.left += 1;
    count(result.ends, endOf(told));
    const request = { sentAt: response.sentAt, told, at, isLeaving };
    if (!isExplained(request, result.kills)) count(result.unexplained, endOf(told));
    await pause(random() * load.idleMs); // the pace of a caller
  }
}

function count(ends: Map<string, number>, end: string): void {
  ends.set(end, (ends.get(end) ?? 0) + 1);
}

/** Kills an api and a worker in turn, never those that are measured. */
async function killAgain(
  site: FaultSite,
  kept: Kept,
  result: SoakResult,
  isOver: () => boolean,
): Promise<void> {
  for (let next = performance.now() + killEveryMs / 2; !isOver(); next += killEveryMs) {
    while (performance.now() < next && !isOver()) await pause(200); // until it is time, or over
    if (isOver()) return;
    const all = result.kills.length % 2 === 0 ? site.workers() : site.apis();
    const victims = all.filter(({ pid }) => pid !== kept.api.pid && pid !== kept.worker.pid).slice(0, 1);
    const kill = { from: performance.now(), to: Number.POSITIVE_INFINITY };
    result.kills.push(kill);
    await endAndReplace(site, victims, 'SIGKILL');
    kill.to = performance.now();
  }
}

/** Counted things that must come back to what they were before the load; memory is judged by its slope. */
const countedBack = ['fds', 'connections'] as const;
/** What a pool of connections may keep open. */
const spare = 12;

async function notBack(site: FaultSite, kept: Kept, before: readonly Look[]): Promise<string[]> {
  let found: string[] = [];
  await eventually(
    async () => {
      const now = await sampleAll(site, kept);
      found = now.flatMap((look) =>
        countedBack.flatMap((what) => {
          const was = before.find(({ process }) => process === look.process)?.[what] ?? 0;
          const is = look[what] ?? 0;
          return is > was + spare
            ? [`${look.process} has ${is} ${what} behind the load, and had ${was} before`]
            : [];
        }),
      );
      return found.length === 0;
    },
    // Idle connections of a client are kept for longer than a minute.
    { timeoutMs: 100_000 },
  ).catch(() => undefined); // `found` says what is not back
  return found;
}

function rowsOf(samples: readonly Sample[]): SoakRow[] {
  const rows: SoakRow[] = [];
  for (const process of new Set(samples.map((sample) => sample.process))) {
    const own = samples.filter((sample) => sample.process === process);
    for (const what of ['heapMiB', 'rssMiB', 'fds', 'keys', 'connections'] as const) {
      const points = own.flatMap(({ at, [what]: value }) => (value === undefined ? [] : [{ at, value }]));
      const [first, last] = [points[0], points.at(-1)];
      if (!first || !last) continue;
      const slope = slopePerHour(points);
      const mean = points.reduce((sum, { value }) => sum + value, 0) / points.length;
      rows.push({ process, what, first: first.value, last: last.value, slope, share: slope / mean });
    }
  }
  return rows;
}
