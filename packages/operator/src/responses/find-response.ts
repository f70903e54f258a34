import { isKeptAfterEnd, isTerminal, isResponseId, ServiceError } from '@sluice/contract';
import type { CallerStores, ResponseRecord } from '@sluice/response-store';

/**
 * A response of any tenant that has not expired. One that was never to be kept is found until it ends.
 *
 * @throws {ServiceError} `not_found` when there is none.
 */
export async function findResponse(
  store: Pick<CallerStores, 'readShort'>,
  responseId: string,
): Promise<ResponseRecord> {
  const record = isResponseId(responseId) ? await store.readShort(responseId) : undefined;
  if (!record || (isTerminal(record.status) && !isKeptAfterEnd(record.request))) throw responseNotFound();
  return record;
}

export function responseNotFound(): ServiceError {
  return new ServiceError('not_found', 'There is no response with this id.', { param: 'id' });
}
