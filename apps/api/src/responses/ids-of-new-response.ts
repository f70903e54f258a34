import type { CallerStores } from '@sluice/response-store';
import { randomBytes } from '@sluice/runtime';
import type { Caller } from './caller.ts';
import type { UncheckedRequest } from './request-checks.ts';

/**
 * Makes ids of a new response, each of which names a cell where there may be room for it: what it continues from decides on that, what its key stands
 * for, and the cells of its tenant.
 */
export function idsOfNewResponse(
  store: Pick<CallerStores, 'newIds'>,
  { key }: Pick<Caller, 'key'>,
  { pending, idempotencyKey }: UncheckedRequest & { idempotencyKey?: string | undefined },
): Promise<string[]> {
  const { previous_response_id: previousId } = pending.request;
  return store.newIds(key.name, randomBytes, { previousId, idempotencyKey, limits: key.limits });
}
