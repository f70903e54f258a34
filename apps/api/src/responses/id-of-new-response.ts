import type { CallerStores } from '@sluice/response-store';
import { randomBytes } from '@sluice/runtime';
import type { Caller } from './caller.ts';
import type { UncheckedRequest } from './request-checks.ts';

/** Makes the id of a new response, which names its cell: what it continues from decides on that, and what its key stands for. */
export function idOfNewResponse(
  store: Pick<CallerStores, 'newId'>,
  { key }: Pick<Caller, 'key'>,
  { pending, idempotencyKey }: UncheckedRequest & { idempotencyKey?: string | undefined },
): Promise<string> {
  const { previous_response_id: previousId } = pending.request;
  return store.newId(key.name, randomBytes, { previousId, idempotencyKey });
}
