import { cancelled, nothingProduced } from '@sluice/contract';
import type { ResponseQueue } from '@sluice/queue';
import type { ResponseStore } from '@sluice/response-store';

/** The store and the queues of the process that drains one: an api, or an operator's command. */
export interface Draining {
  store: Pick<ResponseStore, 'cancel' | 'finishQueued'>;
  queue: Pick<ResponseQueue, 'waitingIds' | 'remove'>;
}

/** Responses looked at in one step. */
const step = 100;

/**
 * Finds the responses that wait in a queue, each once, the next to run first. Those that are still there after their turn are passed
 * over.
 *
 * A response that leaves lets in another one of its tenant, which moves from the line for a place to the line for a worker. So both
 * lines are read until a whole round has nothing new, and the second once more after the first: none is missed on its way.
 */
export async function* waitingResponses(
  { queue }: Pick<Draining, 'queue'>,
  name: string,
): AsyncGenerator<string[]> {
  const seen = new Set<string>();
  for (let isOver = false; !isOver; ) {
    isOver = true;
    for (const waitsFor of ['worker', 'time', 'worker'] as const) {
      for (let first = 0; ; ) {
        const ids = await queue.waitingIds(name, { waitsFor, first, count: step });
        if (ids.length === 0) break;
        const fresh = ids.filter((id) => !seen.has(id));
        for (const id of fresh) seen.add(id);
        if (fresh.length === 0) {
          first += step;
          continue;
        }
        isOver = false;
        yield fresh;
      }
    }
  }
}

/**
 * Cancels a response that waits in a queue, as its caller could: the caller is told, and its job goes. One that has begun
 * meanwhile, or was accepted by another release, is left alone. Twice is fine.
 *
 * @returns whether this call has cancelled it.
 */
export async function cancelWaiting(
  { store, queue }: Draining,
  name: string,
  responseId: string,
): Promise<boolean> {
  const asked = await store.cancel(responseId, 'requested');
  if (asked.kind === 'missing' || asked.kind === 'terminal') {
    await queue.remove(name, responseId);
    return false;
  }
  if (asked.kind !== 'asked' || !asked.isQueued) return false;
  const record = await store.finishQueued(responseId, cancelled(nothingProduced));
  if (record) await queue.remove(name, responseId);
  return record !== undefined;
}

/**
 * Cancels everything that waits in a queue. May be ended at any moment and begun again.
 *
 * @returns how many were cancelled.
 */
export async function drainQueue(
  draining: Draining,
  name: string,
  onProgress: (cancelled: number) => void,
): Promise<number> {
  let done = 0;
  for await (const ids of waitingResponses(draining, name)) {
    for (const id of ids) if (await cancelWaiting(draining, name, id)) done += 1;
    onProgress(done);
  }
  return done;
}
