import { type ErrorBody } from './error-body.ts';
import { type ErrorCode, errorRow } from './errors.ts';

/** The details that an error adds to its row of the catalogue, or replaces in it. */
export interface ServiceErrorOptions {
  /** The member of the request that the error is about. `null` is none; absent is that of the catalogue. */
  param?: string | null;
  /** The time in milliseconds after which another try can succeed, sent as `Retry-After`; null when none can. */
  retryAfterMs?: number | null;
  /** Whether another try makes sense. Sent as `x-should-retry`. */
  shouldRetry?: boolean;
  cause?: unknown;
}

/** The default of `retryAfterMs` for errors that a client should retry later. */
const laterMs = 1_000;

/**
 * A refusal or failure with a stable code and a message that is safe to show.
 *
 * The catalogue supplies everything that is not given, so `new ServiceError(code)` is complete. The `cause` is for the
 * log; no client sees it.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly retryAfterMs: number | undefined;
  readonly shouldRetry: boolean | undefined;

  constructor(code: ErrorCode, options?: ServiceErrorOptions);
  constructor(code: ErrorCode, message?: string, options?: ServiceErrorOptions);
  constructor(code: ErrorCode, first?: string | ServiceErrorOptions, second: ServiceErrorOptions = {}) {
    const [message, options] = typeof first === 'object' ? [undefined, first] : [first, second];
    const row = errorRow(code);
    const param = options.param === undefined ? (row.param ?? null) : options.param;
    super(message ?? sentence(row.message, param), { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.param = param;
    this.retryAfterMs = retryAfterMs(options.retryAfterMs, row.retry === 'later' ? laterMs : undefined);
    this.shouldRetry = options.shouldRetry ?? (row.retry === 'never' ? false : undefined);
  }

  /** The HTTP status of an answer that carries this error. */
  get status(): number {
    return errorRow(this.code).status;
  }

  toBody(): ErrorBody {
    return { message: this.message, type: errorRow(this.code).type, param: this.param, code: this.code };
  }
}

function retryAfterMs(given: number | null | undefined, usual: number | undefined): number | undefined {
  return given === null ? undefined : (given ?? usual);
}

function sentence(template: string, param: string | null): string {
  // `replace` expands `$&` and the like in a string, and a client can choose the name of a member.
  return template.replace("'{param}'", () => (param === null ? 'the request' : `'${param}'`));
}
