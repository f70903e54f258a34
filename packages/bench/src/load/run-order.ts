import { setTimeout as pause } from 'node:timers/promises';
import { percentile } from '../statistics.ts';
import type { Exchange } from './exchange.ts';
import type { LoadOrder, LoadResult, Percentiles, Target } from './order.ts';

/** The last response of each lane, by the name of the conversations. */
export type Conversations = Map<string, (string | undefined)[]>;

/** Keeps as many requests in flight as the order says, until its time is over or its count is reached. */
export async function runOrder(
  exchange: (target: Target) => Promise<Exchange>,
  order: LoadOrder,
  conversations: Conversations = new Map(),
): Promise<LoadResult> {
  const { concurrency, durationMs, count = Number.POSITIVE_INFINITY, staggerMs = 0, pauseMs = 0 } = order;
  const { retryMs } = order;
  const last = lastResponses(order, conversations);
  const exchanges: Exchange[] = [];
  const startedAt = performance.now();
  let started = 0;
  let refused = 0;
  const runLane = async (lane: number) => {
    if (staggerMs > 0) await pause((lane * staggerMs) / concurrency);
    while (started < count && performance.now() - startedAt < durationMs) {
      started += 1;
      const result = await exchange(targetOf(order, lane, last[lane]));
      if (result.status === 503 && retryMs !== undefined) {
        started -= 1;
        refused += 1;
        await pause(retryMs);
        continue;
      }
      exchanges.push(result);
      last[lane] = result.id;
      if (pauseMs > 0 && performance.now() + pauseMs - startedAt >= durationMs) return;
      if (pauseMs > 0) await pause(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, (_, lane) => runLane(lane)));
  return { ...summarise(exchanges, performance.now() - startedAt), refused };
}

function lastResponses({ conversation }: LoadOrder, known: Conversations): (string | undefined)[] {
  if (conversation === undefined) return [];
  const last = known.get(conversation) ?? [];
  known.set(conversation, last);
  return last;
}

/** The request of a lane: that of the order, by the client of the lane, behind its last response. */
function targetOf(
  { target, authorizations, conversation }: LoadOrder,
  lane: number,
  previous: string | undefined,
): Target {
  const authorization = authorizations?.[lane];
  if (authorization === undefined && conversation === undefined) return target;
  const { headers, body } = target;
  return {
    ...target,
    ...(authorization !== undefined && { headers: { ...headers, authorization } }),
    ...(previous !== undefined && { body: `${body.slice(0, -1)},"previous_response_id":"${previous}"}` }),
    tellsId: conversation !== undefined,
  };
}

function summarise(exchanges: readonly Exchange[], elapsedMs: number): Omit<LoadResult, 'refused'> {
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
