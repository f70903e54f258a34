import { cancelled, nothingProduced } from '@sluice/contract';
import type { Operator } from './operator.ts';

/** Responses looked at in one step. */
const step = 100;

/**
 * Cancels what waits in a queue, as its callers could: each is told, and its job goes. What has begun meanwhile, or was
 * accepted by another release, is left alone. May be ended at any moment and begun again.
 *
 * @returns how many were cancelled.
 */
export async function drainQueue(
  { store, queues }: Pick<Operator, 'store' | 'queues'>,
  name: string,
  onProgress: (cancelled: number) => void,
): Promise<number> {
  let done = 0;
  for (const waitsFor of ['worker', 'time'] as const) {
    const seen = new Set<string>();
    for (let first = 0; ; ) {
      const ids = await queues.waitingIds(name, { waitsFor, first, count: step });
      if (ids.length === 0) break;
      const isNew = ids.some((id) => !seen.has(id));
      for (const id of ids.filter((each) => !seen.has(each))) {
        seen.add(id);
        if (await cancelWaiting({ store, queues }, name, id)) done += 1;
      }
      onProgress(done);
      // Those that stay are passed over.
      if (!isNew) first += step;
    }
  }
  return done;
}

async function cancelWaiting(
  { store, queues }: Pick<Operator, 'store' | 'queues'>,
  name: string,
  responseId: string,
): Promise<boolean> {
  const asked = await store.cancel(responseId, 'requested');
  if (asked.kind === 'missing' || asked.kind === 'terminal') {
    await queues.remove(name, responseId);
    return false;
  }
  if (asked.kind !== 'asked' || !asked.isQueued) return false;
  const record = await store.finishQueued(responseId, cancelled(nothingProduced));
  if (record) await queues.remove(name, responseId);
  return record !== undefined;
}
