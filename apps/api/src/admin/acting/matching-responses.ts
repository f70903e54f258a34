import type { ResponseIndex } from '../response-index.ts';

/** Finds the responses of all tenants that match a filter, as far as acting on many of them needs it. */
export type MatchingResponses = Pick<ResponseIndex, 'isKept' | 'count' | 'ids'>;
