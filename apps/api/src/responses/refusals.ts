import type { RequestRate } from '@sluice/admission';
import { ServiceError } from '@sluice/contract';
import type { AcceptResult } from '@sluice/response-store';

/** A refusal that says where the tenant stands with its limit. */
export class RateLimited extends ServiceError {
  readonly rate: RequestRate | undefined;

  constructor(message: string, waitMs: number, rate: RequestRate | undefined) {
    super('rate_limit_exceeded', message, { retryAfterMs: waitMs });
    this.rate = rate;
  }
}

/** One and the same for a response that is unknown, another tenant's, or no longer kept: nobody can tell which. */
export function responseNotFound(): ServiceError {
  return new ServiceError('not_found', 'There is no response with this id.', { param: 'id' });
}

/** What a client is told when it is not let in. */
export function refusal(
  result: Exclude<AcceptResult, { kind: 'accepted' | 'duplicate' | 'unresolved' }>,
): ServiceError {
  switch (result.kind) {
    case 'rate_limited':
      return rateLimited(`Rate limit reached: ${result.rate?.limit ?? 0} requests per minute.`, result);
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

function rateLimited(
  what: string,
  result: { retryAfterMs: number; rate: RequestRate | undefined },
): RateLimited {
  // Rounded up: a client that obeys the text must not come too early.
  const seconds = Math.ceil(result.retryAfterMs / 100) / 10;
  return new RateLimited(`${what} Please try again in ${seconds}s.`, result.retryAfterMs, result.rate);
}

/** What happened is not as safe as `durability` asks for, so nobody is told of it. */
export function notDurable(): ServiceError {
  return new ServiceError(
    'server_is_overloaded',
    'The response could not be made durable in time. Please try again.',
  );
}
