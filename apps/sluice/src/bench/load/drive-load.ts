import { setImmediate as turn } from 'node:timers/promises';
import { pause } from '@sluice/runtime';
import { arrivalTimes } from './arrivals.ts';
import type { Extent, Load } from '../flags/bench-settings.ts';
import type { Random } from './random.ts';

/** One request of the load. */
export interface Shot {
  /** Sends it and resolves once it has ended. `dueAt` is a time of `performance.now()`. */
  send(dueAt: number): Promise<void>;
  /** Notes that it was due and could not be sent. */
  skip(): void;
}

export interface DriveOptions {
  load: Load;
  extent: Extent;
  /** Chooses the arrivals of an open loop. */
  random: Random;
  next: () => Shot;
  /** Stops sending. Requests in flight are waited for. */
  stop: AbortSignal;
  /** Is kept up to date while the load runs. */
  counts: LoadCounts;
}

/** How far a load is. */
export interface LoadCounts {
  /** Requests that were sent or skipped. */
  begun: number;
  outstanding: number;
  /** No more is sent. */
  isSent: boolean;
}

/** Sends requests until the extent is reached or the signal aborts, and resolves when all have ended. */
export async function driveLoad(options: DriveOptions): Promise<void> {
  const { load } = options;
  if (load.kind === 'closed') await closedLoop(load.concurrency, options);
  else await openLoop(load, options);
}

/** A number of callers. Each sends its next request when it has its answer. */
async function closedLoop(concurrency: number, { extent, next, stop, counts }: DriveOptions): Promise<void> {
  const { requests = Number.POSITIVE_INFINITY, durationMs = Number.POSITIVE_INFINITY } = extent;
  const until = performance.now() + durationMs;
  const caller = async () => {
    while (!stop.aborted && counts.begun < requests && performance.now() < until) {
      counts.begun += 1;
      counts.outstanding += 1;
      try {
        await next().send(performance.now());
      } finally {
        counts.outstanding -= 1;
      }
    }
    counts.isSent = true;
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, requests) }, caller));
}

/** Requests sent in a row before answers that have arrived are looked at. */
const mostInRow = 32;

/** Resolves when it is time, or when the signal aborts. A timer may fire a millisecond early, so the clock decides. */
async function pauseUntil(at: number, stop: AbortSignal): Promise<void> {
  for (;;) {
    const waitMs = at - performance.now();
    if (waitMs <= 0 || stop.aborted) return;
    await pause(Math.ceil(waitMs), stop);
  }
}

/** Sends requests at their times, whatever becomes of those before. The endpoint cannot slow the load down. */
async function openLoop(
  { rate, arrivals, mostOutstanding }: Extract<Load, { kind: 'open' }>,
  { extent, random, next, stop, counts }: DriveOptions,
): Promise<void> {
  const { requests = Number.POSITIVE_INFINITY, durationMs = Number.POSITIVE_INFINITY } = extent;
  const startedAt = performance.now();
  const running = new Set<Promise<void>>();
  let inRow = 0;
  for (const afterMs of arrivalTimes({ kind: arrivals, rate, random })) {
    if (counts.begun >= requests || afterMs >= durationMs) break;
    const dueAt = startedAt + afterMs;
    if (performance.now() < dueAt) {
      inRow = 0;
      await pauseUntil(dueAt, stop);
    } else if (++inRow % mostInRow === 0) await turn();
    if (stop.aborted) break;
    const shot = next();
    counts.begun += 1;
    if (counts.outstanding >= mostOutstanding) {
      shot.skip();
      continue;
    }
    counts.outstanding += 1;
    const run = shot.send(dueAt).finally(() => {
      counts.outstanding -= 1;
      running.delete(run);
    });
    running.add(run);
  }
  counts.isSent = true;
  await Promise.all(running);
}
