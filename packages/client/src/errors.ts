/** Any error of this client, except that of an aborted signal: that is the signal's reason. */
export class SluiceError extends Error {
  override name = 'SluiceError';
}

export interface ApiErrorFacts {
  status: number;
  code: string | null;
  type: string | null;
  param: string | null;
  /** Names the request in the log of the server. */
  requestId: string | null;
  /** How long the server asks to wait, in milliseconds. */
  retryAfterMs: number | undefined;
  /** What the server says of a retry, if anything. */
  shouldRetry: boolean | undefined;
}

/** The server answered with an error. */
export class ApiError extends SluiceError implements ApiErrorFacts {
  override name = 'ApiError';
  readonly status: number;
  /** Tells errors apart; docs/openapi.json lists the codes of each route. */
  readonly code: string | null;
  readonly type: string | null;
  readonly param: string | null;
  readonly requestId: string | null;
  readonly retryAfterMs: number | undefined;
  readonly shouldRetry: boolean | undefined;

  constructor(message: string, facts: ApiErrorFacts) {
    super(message);
    this.status = facts.status;
    this.code = facts.code;
    this.type = facts.type;
    this.param = facts.param;
    this.requestId = facts.requestId;
    this.retryAfterMs = facts.retryAfterMs;
    this.shouldRetry = facts.shouldRetry;
  }

  /** Whether the same request can succeed later. */
  get isTransient(): boolean {
    if (this.shouldRetry !== undefined) return this.shouldRetry;
    if (this.status === 429) return this.retryAfterMs !== undefined;
    return this.status === 408 || this.status >= 500;
  }
}

/** No server answered, or its answer broke off. */
export class ConnectionError extends SluiceError {
  override name = 'ConnectionError';
}

/** The events of a response could not be followed to their end. `client.follow` goes on behind the last one. */
export class StreamError extends SluiceError {
  override name = 'StreamError';
  /** Undefined when not even the first event has come. */
  readonly responseId: string | undefined;
  /** The number of the last event that was delivered; -1 for none. */
  readonly lastSequenceNumber: number;

  constructor(
    message: string,
    {
      cause,
      responseId,
      lastSequenceNumber,
    }: { cause: unknown; responseId: string | undefined; lastSequenceNumber: number },
  ) {
    super(message, { cause });
    this.responseId = responseId;
    this.lastSequenceNumber = lastSequenceNumber;
  }
}

/** The error in an answer that is no success. Reads its body. */
export async function errorOf(answer: Response): Promise<ApiError> {
  const { headers, status } = answer;
  const error = await errorIn(answer);
  const text = (name: string) => {
    const value = error[name];
    return typeof value === 'string' ? value : null;
  };
  const shouldRetry = headers.get('x-should-retry');
  return new ApiError(text('message') ?? `The server answered with status ${status}.`, {
    status,
    code: text('code'),
    type: text('type'),
    param: text('param'),
    requestId: headers.get('x-request-id'),
    retryAfterMs: retryAfterMs(headers),
    shouldRetry: shouldRetry === null ? undefined : shouldRetry === 'true',
  });
}

async function errorIn(answer: Response): Promise<Record<string, unknown>> {
  try {
    const body: unknown = await answer.json();
    if (isObject(body) && isObject(body['error'])) return body['error'];
  } catch {
    // A proxy answers with a page, or the connection breaks: the status says enough.
  }
  return {};
}

function retryAfterMs(headers: Headers): number | undefined {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (ms >= 0) return ms;
  const after = headers.get('retry-after');
  if (after === null) return undefined;
  const seconds = Number(after);
  if (seconds >= 0) return seconds * 1000;
  const at = Date.parse(after);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
