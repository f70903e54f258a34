import { boundInUnits } from './waiting.ts';

/** The limits of a tenant and of the service at the moment of an accept. */
export interface AdmissionLimits {
  /** Requests of the tenant a minute, over all api processes; undefined: no limit. */
  requestsPerMinute: number | undefined;
  /** Tokens in and out, of the tenant; undefined: no limit. */
  tokensPerMinute: number | undefined;
  /** Most responses of the tenant that run at a time: more wait. Undefined: no limit. */
  concurrent: number | undefined;
  /** Most responses of the tenant that may wait, and most bytes of them; undefined: only the service's own bounds. */
  tenantQueued: number | undefined;
  tenantQueuedBytes: number | undefined;
  /** Most bytes that the tenant may have in the store, open responses included; undefined: no limit. */
  tenantStoredBytes: number | undefined;
  /** Most responses, and most bytes of them, that may wait in all. */
  queued: number;
  queuedBytes: number;
}

/** The tokens that one response may take of the limits. */
export interface ExpectedTokens {
  /** Without what it continues from. */
  input: number;
  output: number;
  /** Most tokens of input, with what it continues from; undefined for no limit. */
  mostInput: number | undefined;
  /** Whether what is more is left out, and not refused. */
  truncates?: boolean;
}

/** Prints the limits of a response, besides the bounds of the service, as `limits_of` reads them; empty when there are none. */
export function printLimits(
  limits: AdmissionLimits,
  { input, output, mostInput, truncates = false }: ExpectedTokens,
): string {
  const { requestsPerMinute, tokensPerMinute, concurrent } = limits;
  const { tenantQueued, tenantQueuedBytes, tenantStoredBytes } = limits;
  const units = tenantQueuedBytes === undefined ? undefined : boundInUnits(tenantQueuedBytes);
  const own = [requestsPerMinute, tokensPerMinute, tenantQueued, units, tenantStoredBytes, concurrent];
  if ([...own, mostInput].every((limit) => limit === undefined)) return '';
  const words = [...own, input, output, mostInput, truncates ? 1 : undefined];
  return words.map((word) => word ?? '-').join(' ');
}

/** Where a tenant stands with a limit of a minute. */
export interface WindowUse {
  limit: number;
  remaining: number;
  /** Until nothing of the minute counts any more, in milliseconds. */
  resetMs: number;
}

const refusals = [
  'rate_limited',
  'tokens_limited',
  'too_many_tokens',
  'too_many_bytes',
  'store_share_full',
  'tenant_queue_full',
  'queue_full',
] as const;

/**
 * Why a response was not admitted. `tokens_limited` is over for now, while `too_many_tokens` asks for more than a whole
 * minute has; and so are `store_share_full` and `too_many_bytes` of what the tenant may have in the store.
 */
export type Refusal = (typeof refusals)[number];

export function isRefusal(word: string | undefined): word is Refusal {
  return refusals.some((refusal) => refusal === word);
}

/** Reads what `enter` says of a limit; undefined for a tenant without one. */
export function parseUse(
  limit: number | undefined,
  remaining: string | undefined,
  resetMs: string | undefined,
): WindowUse | undefined {
  if (limit === undefined) return undefined;
  return { limit, remaining: Number(remaining ?? 0), resetMs: Number(resetMs ?? 0) };
}
