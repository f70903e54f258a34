/** What a tenant and the service allow at the moment of an accept. */
export interface AdmissionLimits {
  /** Of the tenant, over all api processes; undefined: no limit. */
  requestsPerMinute: number | undefined;
  /** Most responses of the tenant that may wait; undefined: only the service's own bound. */
  tenantQueued: number | undefined;
  /** Most responses, and most bytes of them, that may wait in all. */
  queued: number;
  queuedBytes: number;
}

/** Where a tenant stands with its request limit. */
export interface RequestRate {
  limit: number;
  remaining: number;
  /** Until no request counts any more, in milliseconds. */
  resetMs: number;
}

/** Why a response was not admitted. */
export type Refusal = 'rate_limited' | 'tenant_queue_full' | 'queue_full';

const refusals: ReadonlySet<string> = new Set<Refusal>(['rate_limited', 'tenant_queue_full', 'queue_full']);

export function isRefusal(word: string | undefined): word is Refusal {
  return word !== undefined && refusals.has(word);
}

/** Reads what `enter` says of the request limit; undefined for a tenant without one. */
export function parseRate(
  limit: number | undefined,
  remaining: string | undefined,
  resetMs: string | undefined,
): RequestRate | undefined {
  if (limit === undefined) return undefined;
  return { limit, remaining: Number(remaining ?? 0), resetMs: Number(resetMs ?? 0) };
}
