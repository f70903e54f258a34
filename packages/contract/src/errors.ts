/** One code of the catalogue. */
interface ErrorRow {
  /** The kind of error, sent beside the code. */
  type: string;
  /** The HTTP status of an answer that carries the error. */
  status: number;
  /** The sentence that clients read unless the thrower gives its own. `{param}` stands for the param. */
  message: string;
  /** The member of the request that the error is about, if it is the same each time. */
  param?: string;
  /**
   * The advice to an SDK. `later`: wait as long as `Retry-After` says, then try again. `never`: do not try again; the
   * answer has `x-should-retry: false`. Absent: the answer says nothing, and SDKs decide by the status.
   */
  retry?: 'later' | 'never';
  /** Whether a failed response can carry the code in its `error`. */
  isFailure?: true;
}

const badRequest = { type: 'invalid_request_error', status: 400 } as const;
const forbidden = { type: 'permission_error', status: 403 } as const;
const notFound = { type: 'not_found', status: 404 } as const;
/** It stays as it is, however often somebody asks. */
const conflict = { type: 'conflict', status: 409, retry: 'never' } as const;
const tooMany = { type: 'too_many_requests', status: 429, retry: 'later' } as const;
const unavailable = { type: 'server_error', status: 503, retry: 'later' } as const;
const invalidValue = { ...badRequest, message: "Invalid value for '{param}'." } as const;
const tooSmall = { ...badRequest, message: "Invalid '{param}': the value is too small." } as const;
const tooLarge = { ...badRequest, message: "Invalid '{param}': the value is too large." } as const;

/**
 * ERROR CATALOGUE: every error code that a client can receive.
 *
 * A new error is one row here. The types, the schemas and the HTTP status follow from it.
 *
 * A failure has a fixed message, because the words of an upstream are never passed on: they can contain its address,
 * its key or another client's prompt.
 */
export const errorCatalogue = {
  missing_required_parameter: { ...badRequest, message: "Missing required parameter: '{param}'." },
  invalid_type: { ...badRequest, message: "Invalid type for '{param}'." },
  invalid_value: invalidValue,
  integer_below_min_value: tooSmall,
  integer_above_max_value: tooLarge,
  decimal_below_min_value: tooSmall,
  decimal_above_max_value: tooLarge,
  string_above_max_length: { ...badRequest, message: "Invalid '{param}': the text is too long." },
  array_above_max_length: { ...badRequest, message: "Invalid '{param}': there are too many items." },
  empty_array: { ...badRequest, message: "Invalid '{param}': expected at least one item." },
  unsupported_parameter: { ...badRequest, message: "'{param}' is not supported by this server." },
  unsupported_value: { ...badRequest, message: "This value of '{param}' is not supported by this server." },
  unsupported_tool: { ...badRequest, message: 'Tools of this type are not run here.' },
  invalid_json: { ...badRequest, message: 'The request body is not valid JSON.' },
  model_not_found: { ...badRequest, message: 'The model does not exist.', param: 'model' },
  context_length_exceeded: {
    ...badRequest,
    message: "The input exceeds the model's context window. Shorten it and try again.",
    param: 'input',
    isFailure: true,
  },
  previous_response_not_found: {
    ...badRequest,
    message: 'A response that this one continues from no longer exists.',
    param: 'previous_response_id',
    isFailure: true,
  },
  tool_call_not_found: {
    ...badRequest,
    message: 'No tool call found for function call output.',
    param: 'input',
  },
  invalid_encrypted_content: {
    ...badRequest,
    message: 'The encrypted content was not made by this server.',
  },
  invalid_prompt: {
    ...badRequest,
    message: 'The model server rejected the request as invalid.',
    isFailure: true,
  },
  invalid_base64_image: invalidValue,
  invalid_image_format: invalidValue,
  invalid_image_url: invalidValue,
  mutually_exclusive_parameters: {
    ...badRequest,
    message: "'previous_response_id' and 'conversation' cannot be used together.",
    param: 'previous_response_id',
  },
  stream_expired: {
    ...badRequest,
    message: 'The events of this response can no longer be streamed; read it without stream=true.',
    param: 'stream',
  },
  events_gone: {
    ...badRequest,
    status: 410,
    message: 'The events of this response are no longer kept; read the response itself.',
    param: 'id',
  },
  invalid_request: { ...badRequest, message: 'The request is not valid.' },
  steering_not_supported: {
    ...badRequest,
    message: 'A response cannot be steered here while it runs; create another one that continues from it.',
  },
  websocket_stream_limit_reached: {
    ...badRequest,
    message:
      'The connection has as many streams as it may have. Use one of them again, or another connection.',
    param: 'stream_id',
  },
  websocket_connection_limit_reached: {
    ...badRequest,
    message:
      'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
  },
  invalid_api_key: {
    type: 'invalid_request_error',
    status: 401,
    message: 'Incorrect or missing API key. Send it as a header: Authorization: Bearer <key>.',
  },
  model_not_allowed: { ...forbidden, message: 'This key may not use the model.', param: 'model' },
  invalid_action_token: {
    type: 'invalid_request_error',
    status: 401,
    message:
      'What changes something needs the action token. Send it as a header: sluice-action-token: <token>.',
  },
  actions_off: {
    ...forbidden,
    message: 'Nothing can be changed here: the service has no ADMIN_ACTION_TOKEN.',
  },
  webhooks_off: {
    ...forbidden,
    message: 'Webhooks are switched off here: the operator has set webhooks.enabled to false.',
  },
  files_off: {
    ...forbidden,
    message: 'Files are switched off here: the operator has not set files.enabled.',
  },
  files_unavailable: { ...unavailable, message: 'Files cannot be reached at the moment. Please try again.' },
  file_limit_reached: { ...badRequest, message: 'You have as many files as you may: delete some.' },
  batch_limit_reached: { ...badRequest, message: 'You have as many batches as you may.' },
  usage_off: { ...forbidden, message: 'Usage is not counted here: the operator has not set usage.enabled.' },
  usage_unavailable: { ...unavailable, message: 'Usage cannot be read at the moment. Please try again.' },
  webhook_endpoint_failed: { ...badRequest, message: 'The endpoint did not take the event.' },
  not_found: { ...notFound, message: 'There is nothing at this path.' },
  item_not_found: {
    ...notFound,
    message: "Item not found. Items are not persisted when 'store' is false.",
    param: 'input',
  },
  method_not_allowed: { ...badRequest, status: 405, message: 'This path does not take this method.' },
  request_timeout: { ...badRequest, status: 408, message: 'The request did not arrive in time.' },
  idempotency_result_gone: {
    ...conflict,
    message: 'This Idempotency-Key stands for a response that is no longer kept.',
    param: 'Idempotency-Key',
  },
  more_than_expected: {
    ...conflict,
    message: 'More responses match than were expected. Look again, and confirm how many there are.',
    param: 'expected',
  },
  act_under_way: {
    ...conflict,
    message: 'Something is being done with many responses already. Wait until it is done, or stop it.',
  },
  not_retryable: { ...conflict, message: 'This response cannot be tried again.', param: 'id' },
  request_too_large: { ...badRequest, status: 413, message: 'The request body is too large.' },
  uri_too_long: { ...badRequest, status: 414, message: 'The URL of the request is too long.' },
  unsupported_media_type: {
    ...badRequest,
    status: 415,
    message: "The content type must be 'application/json'.",
  },
  idempotency_mismatch: {
    ...badRequest,
    status: 422,
    message: 'This Idempotency-Key was used with another request body.',
    param: 'Idempotency-Key',
    retry: 'never',
  },
  upgrade_required: {
    ...badRequest,
    status: 426,
    message: 'WebSockets are not available here; send requests over HTTP.',
  },
  rate_limit_exceeded: { ...tooMany, message: 'Rate limit reached.' },
  insufficient_quota: {
    type: 'insufficient_quota',
    status: 429,
    message: 'Your budget is used up.',
    retry: 'never',
  },
  too_many_queued_requests: {
    ...tooMany,
    message: 'Too many requests of this connection wait for their turn. Wait until some of them have ended.',
  },
  headers_too_large: { ...badRequest, status: 431, message: 'The headers of the request are too large.' },
  server_error: {
    type: 'server_error',
    status: 500,
    message: 'The server had an error while processing the request. A retry is safe.',
    isFailure: true,
  },
  model_error: {
    type: 'model_error',
    status: 500,
    message: 'The model failed to produce a response to this request.',
    isFailure: true,
  },
  invalid_model_output: {
    type: 'model_error',
    status: 500,
    message: 'The model produced output that does not satisfy the requested format.',
    isFailure: true,
  },
  upstream_error: {
    type: 'server_error',
    status: 502,
    message: 'The model server could not be reached or answered with an error.',
    isFailure: true,
  },
  server_is_overloaded: {
    ...unavailable,
    message: 'The model server is overloaded. Please try again later.',
    isFailure: true,
  },
  timeout: {
    type: 'server_error',
    status: 504,
    message: 'The response did not finish within the time allowed.',
    isFailure: true,
  },
} as const satisfies Record<string, ErrorRow>;

type Catalogue = typeof errorCatalogue;
export type ErrorCode = keyof Catalogue;
export type ErrorType = Catalogue[ErrorCode]['type'];

/** Codes that the `error` of a failed response can carry. */
export type FailureCode = {
  [Code in ErrorCode]: Catalogue[Code] extends { isFailure: true } ? Code : never;
}[ErrorCode];

/** Returns the row of a code, typed so that members which only some rows have can be read. */
export function errorRow(code: ErrorCode): ErrorRow & { type: ErrorType } {
  return errorCatalogue[code];
}

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code);
}

export function isFailureCode(code: string): code is FailureCode {
  return isErrorCode(code) && errorRow(code).isFailure === true;
}

export const errorCodes = Object.keys(errorCatalogue).filter(isErrorCode);

/** Codes that the `error` of a failed response can have. */
export const failureCodes: readonly FailureCode[] = errorCodes.filter(isFailureCode);
