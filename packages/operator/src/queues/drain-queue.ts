import type { ResponseQueues } from '@sluice/queue';
import type { ResponseStores } from '@sluice/response-store';
import { cancelQueued, type QueuedCancelling } from '../responses/cancel-queued.ts';

/** The store and the queues of the process that drains one: an api, or an operator's command. */
export interface Draining {
  store: QueuedCancelling['store'] & Pick<ResponseStores, 'cancel' | 'read'>;
  queue: QueuedCancelling['queue'] & Pick<ResponseQueues, 'waitingIds'>;
}

/** Responses looked at in one step. */
const step = 100;

/**
 * Finds the responses that wait in a queue, each once, the next to run first. Those that are still there after their turn are passed
 * over.
 *
 * A response that leaves lets in another one of its tenant, which moves from the line for a place to the line for a worker. So both
 * lines are read until a whole round has nothing new, and the second once more after the first: none is missed on its way. A job that
 * a worker has been given is looked at as well: where its response has not begun, the worker may not know of it.
 *
 * Rejects behind those that were found when a part of a line cannot be read.
 */
export async function* waitingResponses(
  { queue, store }: { queue: Draining['queue']; store: Pick<Draining['store'], 'read'> },
  name: string,
): AsyncGenerator<string[]> {
  const seen = new Set<string>();
  const unread: unknown[] = [];
  for (let isOver = false; !isOver; ) {
    isOver = true;
    unread.length = 0;
    for (const waitsFor of ['worker', 'time', 'worker', 'claim'] as const) {
      const read = (first: number) => queue.waitingIds(name, { waitsFor, first, count: step });
      const unlessUnread = (error: unknown) => {
        unread.push(error);
        return [];
      };
      for (let first = 0; ; ) {
        const ids = await read(first).catch(unlessUnread);
        if (ids.length === 0) break;
        const fresh = ids.filter((id) => !seen.has(id));
        for (const id of fresh) seen.add(id);
        if (fresh.length === 0) {
          first += step;
          continue;
        }
        const found = waitsFor === 'claim' ? await queued(store, fresh).catch(unlessUnread) : fresh;
        if (found.length === 0) continue;
        isOver = false;
        yield found;
      }
    }
  }
  if (unread.length > 0) throw unread[0];
}

/** The responses among these that have not begun, as far as this release can tell. */
async function queued(store: Pick<Draining['store'], 'read'>, ids: readonly string[]): Promise<string[]> {
  const unlessOfAnotherRelease = (error: unknown) => {
    if (error instanceof Error && error.name === 'UnknownVersion') return undefined;
    throw error;
  };
  const records = await Promise.all(ids.map((id) => store.read(id).catch(unlessOfAnotherRelease)));
  return ids.filter((_id, at) => records[at]?.status === 'queued');
}

/**
 * Cancels a response that waits in a queue. One that a worker has taken meanwhile, or that was accepted by another release, is left
 * alone; a job without a response that waits goes. Twice is fine.
 *
 * One that was given back by a worker has begun for good, but waits as well. Its end is asked for: the worker that postponed it, the
 * next one that takes its job, or the rescue writes it.
 *
 * @returns whether this call has cancelled it, or asked for its end.
 */
export async function cancelWaiting(draining: Draining, name: string, responseId: string): Promise<boolean> {
  const kind = await cancelQueued(draining, responseId);
  if (kind === 'missing') await draining.queue.remove(name, responseId);
  if (kind !== 'begun') return kind === 'ended';
  const asked = await draining.store.cancel(responseId, 'requested', { unlessHeld: true });
  return asked.kind === 'asked';
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
