/**
 * The error catalogue: every code a client can meet, and the `type` it is sent under.
 *
 * Each edge adds its own exhaustive table (HTTP status in the api, disposition in the worker), so a code
 * added here does not compile until every edge has decided what it means.
 */
export const errorTypes = {
  missing_required_parameter: 'invalid_request_error',
  invalid_type: 'invalid_request_error',
  invalid_value: 'invalid_request_error',
  integer_below_min_value: 'invalid_request_error',
  integer_above_max_value: 'invalid_request_error',
  decimal_below_min_value: 'invalid_request_error',
  decimal_above_max_value: 'invalid_request_error',
  string_above_max_length: 'invalid_request_error',
  array_above_max_length: 'invalid_request_error',
  empty_array: 'invalid_request_error',
  unsupported_parameter: 'invalid_request_error',
  unsupported_value: 'invalid_request_error',
  invalid_json: 'invalid_request_error',
  model_not_found: 'invalid_request_error',
  context_length_exceeded: 'invalid_request_error',
  previous_response_not_found: 'invalid_request_error',
  tool_call_not_found: 'invalid_request_error',
  invalid_encrypted_content: 'invalid_request_error',
  invalid_prompt: 'invalid_request_error',
  invalid_base64_image: 'invalid_request_error',
  invalid_image_format: 'invalid_request_error',
  invalid_image_url: 'invalid_request_error',
  mutually_exclusive_parameters: 'invalid_request_error',
  stream_expired: 'invalid_request_error',
  invalid_request: 'invalid_request_error',
  invalid_api_key: 'invalid_request_error',
  model_not_allowed: 'permission_error',
  not_found: 'not_found',
  item_not_found: 'not_found',
  method_not_allowed: 'invalid_request_error',
  request_timeout: 'invalid_request_error',
  request_too_large: 'invalid_request_error',
  upgrade_required: 'invalid_request_error',
  headers_too_large: 'invalid_request_error',
  uri_too_long: 'invalid_request_error',
  unsupported_media_type: 'invalid_request_error',
  idempotency_result_gone: 'conflict',
  idempotency_mismatch: 'invalid_request_error',
  rate_limit_exceeded: 'too_many_requests',
  server_error: 'server_error',
  model_error: 'model_error',
  invalid_model_output: 'model_error',
  upstream_error: 'server_error',
  server_is_overloaded: 'server_error',
  timeout: 'server_error',
} as const;

export type ErrorCode = keyof typeof errorTypes;
export type ErrorType = (typeof errorTypes)[ErrorCode];

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTypes, code);
}

/** The `error` member of a response, of an `error` event and of every body that is not 2xx. */
export interface ErrorBody {
  message: string;
  type: string;
  param: string | null;
  code: string;
}

export interface ServiceErrorOptions {
  param?: string;
  /** How long to wait before another try can succeed, in milliseconds. Sent as `Retry-After`. */
  retryAfterMs?: number;
  /** Tells clients that obey `x-should-retry` whether another try makes sense; absent: the status decides. */
  shouldRetry?: boolean;
  cause?: unknown;
}

/**
 * A refusal or failure with a stable code and a message that is safe to show.
 *
 * Knows neither HTTP nor the queue. The `cause` is for the log and never leaves the process.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly retryAfterMs: number | undefined;
  readonly shouldRetry: boolean | undefined;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.param = options.param ?? null;
    this.retryAfterMs = options.retryAfterMs;
    this.shouldRetry = options.shouldRetry;
  }

  toBody(): ErrorBody {
    return { message: this.message, type: errorTypes[this.code], param: this.param, code: this.code };
  }
}

/**
 * The fixed sentence for a response that failed while it ran. An upstream's own words are never passed on:
 * they can carry its address, its key or somebody else's prompt.
 */
export const failureMessages = {
  server_error: 'The server had an error while processing the request. A retry is safe.',
  model_error: 'The model failed to produce a response to this request.',
  invalid_model_output: 'The model produced output that does not satisfy the requested format.',
  upstream_error: 'The model server could not be reached or answered with an error.',
  server_is_overloaded: 'The model server is overloaded. Please try again later.',
  timeout: 'The response did not finish within the time allowed.',
  invalid_prompt: 'The model server rejected the request as invalid.',
  context_length_exceeded: "The input exceeds the model's context window. Shorten it and try again.",
  previous_response_not_found: 'A response that this one continues from no longer exists.',
} as const satisfies Partial<Record<ErrorCode, string>>;

/** Codes that `response.error.code` of a failed response can carry. */
export type FailureCode = keyof typeof failureMessages;

export function failureBody(
  code: FailureCode,
  message: string = failureMessages[code],
  param: string | null = failureParams[code] ?? null,
): ErrorBody {
  return { message, type: errorTypes[code], param, code };
}

/** What of the request a failure is about, where the code says so. */
const failureParams: Partial<Record<FailureCode, string>> = {
  previous_response_not_found: 'previous_response_id',
  context_length_exceeded: 'input',
};
