import { setTimeout as pause } from 'node:timers/promises';
import { percentile } from '../statistics.ts';
import type { Exchange } from './exchange.ts';
import type { LoadOrder, LoadResult, Percentiles, Target } from './order.ts';

/** Keeps as many requests in flight as the order says, until its time is over or its count is reached. */
export async function runOrder(
  exchange: (target: Target) => Promise<Exchange>,
  order: LoadOrder,
): Promise<LoadResult> {
  const { target, concurrency, durationMs, count = Number.POSITIVE_INFINITY, staggerMs = 0 } = order;
  const exchanges: Exchange[] = [];
  const startedAt = performance.now();
  let started = 0;
  const runLane = async (lane: number) => {
    if (staggerMs > 0) await pause((lane * staggerMs) / concurrency);
    while (started < count && performance.now() - startedAt < durationMs) {
      started += 1;
      exchanges.push(await exchange(target));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, (_, lane) => runLane(lane)));
  return summarise(exchanges, performance.now() - startedAt);
}

function summarise(exchanges: readonly Exchange[], elapsedMs: number): LoadResult {
  const good = exchanges.filter(({ failure }) => failure === undefined);
  return {
    completed: good.length,
    failed: exchanges.length - good.length,
    firstFailure: exchanges.find(({ failure }) => failure !== undefined)?.failure,
    elapsedMs,
    marks: good.reduce((total, { marks }) => total + marks, 0),
    latencyMs: percentiles(good.map((one) => one.elapsedMs)),
    firstMarkMs: percentiles(good.map((one) => one.firstMarkMs)),
    gapMs: percentiles(good.flatMap(({ gapsMs }) => gapsMs)),
  };
}

function percentiles(samples: readonly number[]): Percentiles {
  return { p50: percentile(samples, 0.5), p99: percentile(samples, 0.99) };
}
