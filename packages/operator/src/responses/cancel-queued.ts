import { cancelled, nothingProduced } from '@sluice/contract';
import type { ResponseQueues } from '@sluice/queue';
import type { QueuedEnding, ResponseStores } from '@sluice/response-store';

export interface QueuedCancelling {
  store: Pick<ResponseStores, 'endIfQueued'>;
  queue: Pick<ResponseQueues, 'remove'>;
}

/**
 * Cancels a response that no worker has, as its tenant could: its callers are told, and its job leaves the queue. Any other stays as
 * it is.
 */
export async function cancelQueued(
  { store, queue }: QueuedCancelling,
  responseId: string,
): Promise<QueuedEnding['kind']> {
  const found = await store.endIfQueued(responseId, cancelled(nothingProduced), 'requested');
  if ('queue' in found && found.queue !== undefined) await queue.remove(found.queue, responseId);
  return found.kind;
}
