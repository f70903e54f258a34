import { ServiceError } from '@sluice/contract';
import { type BudgetName, tenantLimits } from '@sluice/contract/tenant-limits';
import type { AcceptResult, TenantUse } from '@sluice/response-store';

/** From this long a wait on, in milliseconds, a client is told not to try again by itself. */
const worthWaitingMs = 60_000;

/** A refusal that says where the tenant stands with its limits. */
export class RateLimited extends ServiceError {
  readonly use: TenantUse;

  /** `waitMs` is undefined where waiting does not help. */
  constructor(
    message: string,
    waitMs: number | undefined,
    use: TenantUse,
    code: 'rate_limit_exceeded' | 'insufficient_quota' = 'rate_limit_exceeded',
  ) {
    super(code, message, {
      retryAfterMs: waitMs ?? null,
      ...((waitMs === undefined || waitMs > worthWaitingMs) && { shouldRetry: false }),
    });
    this.use = use;
  }
}

/** One and the same for a response that is unknown, another tenant's, or no longer kept: nobody can tell which. */
export function responseNotFound(): ServiceError {
  return new ServiceError('not_found', 'There is no response with this id.', { param: 'id' });
}

/** The answers of an accept that refuse a request. */
export type Refused = Exclude<AcceptResult, { kind: 'accepted' | 'duplicate' | 'unresolved' }>;

/** Whether another cell refuses it, too: a tenant may have as much in each. */
export function isSameEverywhere({ kind }: Refused): boolean {
  return kind === 'too_many_tokens' || kind === 'too_many_bytes' || kind === 'mismatch' || kind === 'gone';
}

/** The error for a request that admission refuses. */
export function refusal(result: Exclude<Refused, { kind: 'over_budget' }>): ServiceError {
  switch (result.kind) {
    case 'rate_limited':
      return rateLimited(
        `Rate limit reached: ${result.use.requests?.limit ?? 0} requests per minute.`,
        result,
      );
    case 'tokens_limited':
      return rateLimited(`Rate limit reached: ${result.use.tokens?.limit ?? 0} tokens per minute.`, result);
    case 'too_many_tokens':
      return new RateLimited(
        `The request may take more tokens than the ${result.use.tokens?.limit ?? 0} that are allowed per minute. Shorten the input or set a lower 'max_output_tokens'.`,
        undefined,
        result.use,
      );
    case 'too_many_bytes':
      return new RateLimited(
        'The request is larger than all that may be stored for you.',
        undefined,
        result.use,
      );
    case 'store_share_full':
      return rateLimited(
        'Too much of yours is stored. Delete responses that you do not need, or wait until some have expired.',
        result,
      );
    case 'tenant_queue_full':
      return rateLimited('Too many of your requests are waiting.', result);
    case 'queue_full':
      return new ServiceError(
        'server_is_overloaded',
        'Too many requests are waiting. Please try again later.',
        {
          retryAfterMs: result.retryAfterMs,
        },
      );
    case 'too_late':
      return new ServiceError('server_is_overloaded', 'The server cannot take requests at the moment.');
    case 'mismatch':
      return new ServiceError('idempotency_mismatch');
    case 'gone':
      return new ServiceError('idempotency_result_gone');
  }
}

/** The error for a request that may take more than is left of a budget. `now` is the time of the store, in milliseconds. */
export function overBudget(
  { spent, use }: Extract<AcceptResult, { kind: 'over_budget' }>,
  { now, currency }: { now: number; currency: string },
): RateLimited {
  const { name, isOfKey, limit, left, isDivided } = spent;
  const unit = tenantLimits[name].unit === 'money' ? currency : 'tokens';
  const amount = (value: number) => `${value.toLocaleString('en', { maximumFractionDigits: 6 })} ${unit}`;
  const { period, begins } = nextPeriod(name, now);
  const [divided, where] = isDivided ? [', in equal parts of several cells', ' in one of them'] : ['', ''];
  const message = `The ${isOfKey ? 'key' : 'account'} may take ${amount(limit)} a ${period}${divided}. ${amount(left)} are left${where}, and the request may take more. The next ${period} begins at ${begins}.`;
  return new RateLimited(message, undefined, use, 'insufficient_quota');
}

/** The refusal after which another try makes sense first, of those of several cells. */
export function soonest(refusals: readonly unknown[]): unknown {
  const waitOf = (error: unknown) =>
    error instanceof ServiceError
      ? (error.retryAfterMs ?? Number.POSITIVE_INFINITY)
      : Number.POSITIVE_INFINITY;
  return refusals.toSorted((one, other) => waitOf(one) - waitOf(other))[0];
}

/** When the day or the month is over that a budget is of, in UTC. */
function nextPeriod(name: BudgetName, now: number): { period: 'day' | 'month'; begins: string } {
  const at = new Date(now);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  const isOfDay = name.endsWith('PerDay');
  const begins = new Date(isOfDay ? Date.UTC(year, month, at.getUTCDate() + 1) : Date.UTC(year, month + 1));
  return { period: isOfDay ? 'day' : 'month', begins: begins.toISOString().replace('.000Z', 'Z') };
}

function rateLimited(what: string, result: { retryAfterMs: number; use: TenantUse }): RateLimited {
  // Rounded up: a client that obeys the text must not come too early.
  const seconds = Math.ceil(result.retryAfterMs / 100) / 10;
  return new RateLimited(`${what} Please try again in ${seconds}s.`, result.retryAfterMs, result.use);
}

/** How long a client waits for room in the store, in milliseconds. */
const storeFullRetryMs = 5_000;

/**
 * The memory of Redis is so full that only what is accepted already goes on. An api finds that out by looking, or between
 * two looks by an error of Redis, which is the cause then.
 */
export function storeFull(cause?: unknown): ServiceError {
  return new ServiceError(
    'server_is_overloaded',
    'Too much is stored at the moment. Please try again later.',
    { retryAfterMs: storeFullRetryMs, ...(cause !== undefined && { cause }) },
  );
}

/** The error in place of an answer that is not yet as safe as `durability` asks for. */
export function notDurable(): ServiceError {
  return new ServiceError(
    'server_is_overloaded',
    'The response could not be made durable in time. Please try again.',
  );
}
