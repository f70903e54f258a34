import { ServiceError } from '@sluice/contract';
import type { StartAct } from '@sluice/contract/admin';
import type { BulkWork } from '../acts/bulk-work.ts';
import type { ResponseIndex } from '../index/response-index.ts';

/** Finds the responses of all tenants that match a filter, as far as acting on many of them needs it. */
export type MatchingResponses = Pick<ResponseIndex, 'isKept' | 'count' | 'ids'>;

/** Retries are begun at this rate, so that they do not push aside what clients ask for. */
const retriesPerSecond = 20;

/**
 * The work of cancelling or retrying all that matches a filter.
 *
 * @throws {ServiceError} `more_than_expected` when more match than the operator has confirmed.
 */
export async function workOnMatching(
  { action, filter, expected }: StartAct,
  matching: MatchingResponses,
  {
    now,
    cancel,
    retry,
  }: { now: number; cancel: (id: string) => Promise<boolean>; retry: (id: string) => Promise<unknown> },
): Promise<BulkWork> {
  // Nobody confirmed responses that are accepted from now on; and a retry may match the filter of its original.
  const bounded = { ...filter, to: Math.min(filter.to ?? now, now) };
  const total = await matching.count(bounded);
  if (total > expected) {
    throw new ServiceError(
      'more_than_expected',
      `${total} responses match, and ${expected} were expected. Look again, and confirm how many there are.`,
    );
  }
  return {
    action,
    target: JSON.stringify(filter),
    total,
    most: expected,
    ...(action === 'retry' && { perSecond: retriesPerSecond }),
    ids: () => matching.ids(bounded),
    each: (id) => (action === 'cancel' ? cancel(id) : isRetried(retry(id))),
  };
}

/** Nothing is to do for one that has not ended, or is gone. */
async function isRetried(retrying: Promise<unknown>): Promise<boolean> {
  try {
    await retrying;
    return true;
  } catch (error) {
    const isNothingToDo =
      error instanceof ServiceError && (error.code === 'not_retryable' || error.code === 'not_found');
    if (isNothingToDo) return false;
    throw error;
  }
}
