import { isObject, type JsonObject, objectOf, textOf } from '../json-fields.ts';
import { ProviderError } from '../provider.ts';
import {
  brokenStream,
  failedInStream,
  failedStatus,
  type Headers,
  type UpstreamRequest,
} from '../upstream/failure.ts';

/** The state of a call when its package throws. */
export interface FailedCall {
  /** Whether the answer had begun. */
  isStreaming?: boolean;
  /** Whether a request was sent over our connections. */
  isSent?: boolean;
  /** Whether a connection was being made. */
  isConnecting?: boolean;
  request?: UpstreamRequest;
}

/** Names of the SDK's errors for a prompt that a package cannot send. */
const refusedPrompts: ReadonlySet<string> = new Set([
  'AI_InvalidPromptError',
  'AI_InvalidArgumentError',
  'AI_UnsupportedFunctionalityError',
  'AI_TooManyEmbeddingValuesForCallError',
]);
/** And for settings that no request can use. Their messages name a setting and repeat no value. */
const badSettings: ReadonlySet<string> = new Set([
  'AI_LoadAPIKeyError',
  'AI_LoadSettingError',
  'AI_NoSuchModelError',
]);

/**
 * Maps whatever a package throws, or puts into its stream, to a `ProviderError`.
 *
 * The error itself is not passed on as a cause: it holds the prompt and the words of the upstream. Errors are told by their
 * fields and names, because each package may bring a copy of the SDK of its own.
 */
export function failureOf(providerId: string, error: unknown, call: FailedCall = {}): ProviderError {
  if (error instanceof ProviderError) return error;
  const fields = objectOf(error) ?? {};
  const status = fields['statusCode'];
  const name = nameOf(fields);
  const hasAnswer = textOf(fields['responseBody']) !== undefined || fields['responseHeaders'] !== undefined;
  const isStatus = typeof status === 'number' && status !== 200;
  // An error in a stream is told by its own words. The package derives its status from them.
  if (isStatus && (hasAnswer || !call.isStreaming)) return statusFailure(providerId, status, fields);
  if (name !== undefined && refusedPrompts.has(name)) return refusedPrompt(providerId, name);
  if (name !== undefined && badSettings.has(name)) {
    return new ProviderError(
      'upstream_error',
      `Provider '${providerId}' has settings that no request can use.`,
      {
        disposition: 'fail',
        cause: new Error(`${name}: ${textOf(fields['message']) ?? ''}`.slice(0, 500)),
      },
    );
  }
  if (call.isStreaming) return streamFailure(providerId, fields, call);
  if (call.isConnecting) {
    return brokenStream(providerId, 'could not be reached', {
      fault: 'unreachable',
      cause: transportCause(error),
    });
  }
  if (call.isSent || name === 'AI_APICallError') {
    return brokenStream(providerId, 'broke the connection', {
      ...call.request,
      cause: transportCause(error),
    });
  }
  // Nothing was sent, so this says nothing about the upstream: a prompt must not be able to close its circuit breaker.
  return new ProviderError(
    'upstream_error',
    `The package of provider '${providerId}' failed (${name ?? 'unknown'}).`,
    {
      disposition: 'fail',
    },
  );
}

function statusFailure(providerId: string, status: number, fields: JsonObject): ProviderError {
  const body = textOf(fields['responseBody']) ?? JSON.stringify({ error: fields['data'] ?? words(fields) });
  // Google answers 400 to a key that it does not know, which no client can mend.
  const actual = status === 400 && body.includes('API_KEY_INVALID') ? 401 : status;
  return failedStatus(providerId, actual, withRetryDelay(headersOf(fields['responseHeaders']), body), body);
}

/** Google says in the body when to come back, and not in a header. */
function withRetryDelay(headers: Headers, body: string): Headers {
  if (headers['retry-after'] !== undefined) return headers;
  const [, seconds] = /"retryDelay":\s*"(\d{1,6}(?:\.\d{1,9})?)s"/.exec(body) ?? [];
  return seconds === undefined ? headers : { ...headers, 'retry-after': seconds };
}

function streamFailure(providerId: string, fields: JsonObject, call: FailedCall): ProviderError {
  const name = nameOf(fields);
  // The package could not parse the stream, or its connection ended.
  if (name === 'AI_JSONParseError' || name === 'AI_TypeValidationError') {
    return brokenStream(providerId, 'sent a malformed event', call.request);
  }
  const isTransport = name === 'TypeError' || name === 'AI_APICallError';
  if (isTransport) return brokenStream(providerId, 'broke the connection', { ...call.request });
  return failedInStream(providerId, words(fields), call.request);
}

/** The members of an error that tell what kind it is. */
function words(fields: JsonObject): JsonObject {
  const { code, type, message, statusCode } = isObject(fields['data'])
    ? { ...fields, ...fields['data'] }
    : fields;
  return { code: code ?? statusCode, type, message };
}

function refusedPrompt(providerId: string, name: string): ProviderError {
  return new ProviderError(
    'invalid_prompt',
    `The package of provider '${providerId}' refused the prompt (${name}).`,
    {
      disposition: 'fail',
      publicMessage: 'The model server does not support a part of the input or of the options.',
    },
  );
}

/** The name of an error, if it is one that is safe to log. */
function nameOf(fields: JsonObject): string | undefined {
  const name = fields['name'];
  return typeof name === 'string' && /^\w{1,64}$/.test(name) ? name : undefined;
}

function headersOf(value: unknown): Headers {
  return Object.fromEntries(
    Object.entries(objectOf(value) ?? {}).flatMap(([name, text]) =>
      typeof text === 'string' ? [[name.toLowerCase(), text]] : [],
    ),
  );
}

/** The system's word for what happened to a connection, such as ECONNREFUSED, without addresses. */
function transportCause(error: unknown): Error | undefined {
  let at: unknown = error;
  for (let depth = 0; depth < 5 && at instanceof Error; depth += 1) {
    if ('code' in at && typeof at.code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(at.code)) {
      return new Error(at.code);
    }
    at = at.cause;
  }
  return undefined;
}
