import { setTimeout as pause } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { memoize } from '@sluice/runtime';
import { hostileLoads, type Kind } from './hostile-loads.ts';
import { leftStep, loadCallerOf } from './load-caller.ts';
import type { LoadResult } from './load-outcomes.ts';

/** Sends one load for some time, in the name of the tenants with these keys, who take turns. */
export interface LoadOrder {
  url: string;
  keys: readonly string[];
  mechanism: string;
  kind: Kind;
  forMs: number;
}

// A thread of its own: sending takes time in which nobody could look at how long others wait.
/** Each service has callers of its own, who know what they have stored there. */
const callerOf = memoize(loadCallerOf);

parentPort?.on('message', (order: LoadOrder) => {
  void send(order).then((result) => parentPort?.postMessage(result));
});

async function send({ url, keys, mechanism, kind, forMs }: LoadOrder): Promise<LoadResult> {
  const load = hostileLoads.find((each) => each.mechanism === mechanism)?.loads[kind];
  if (!load) throw new Error(`there is no load of ${mechanism}`);
  const result: LoadResult = new Map();
  const underWay = new Set<Promise<void>>();
  const startedAt = performance.now();
  for (let at = 0; performance.now() - startedAt < forMs; at += 1) {
    await pause(Math.max(0, startedAt + (at * 1000) / load.perSecond - performance.now())); // the pace of the load
    if (underWay.size >= load.atATime) await Promise.race(underWay);
    const step: Promise<void> = load
      .step(callerOf(url, keys[at % keys.length] ?? ''))
      .catch((error: unknown) => (isLeft(error) ? leftStep : String(error)))
      .then((came) => {
        result.set(came, (result.get(came) ?? 0) + 1);
        underWay.delete(step);
      });
    underWay.add(step);
  }
  await Promise.all(underWay);
  return result;
}

function isLeft(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}
