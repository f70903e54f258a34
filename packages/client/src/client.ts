import { Attempts, BaseUrls, defaultRetryPolicy, type RetryPolicy } from './attempts.ts';
import { ApiError } from './errors.ts';
import type { ResponseEvent } from './events.ts';
import { type Call, exchange, type ExchangeOptions, jsonOf } from './exchange.ts';
import { followEvents } from './follow.ts';
import { type CreateRequest, type DeletedResponse, isTerminal, type ResponseObject } from './response.ts';

export interface ClientOptions {
  /** The address of a mount, such as `http://127.0.0.1:3000/v1`. */
  baseUrl?: string;
  /** The addresses of several apis of one service. The next one is used when one does not answer. */
  baseUrls?: readonly string[];
  apiKey: string;
  /** Default: the global one. */
  fetch?: typeof fetch;
  retry?: Partial<RetryPolicy>;
  /** How long a stream may be silent, in milliseconds; 45,000 by default. The server sends something every 15 seconds. */
  idleMs?: number;
}

export interface CallOptions {
  /**
   * Ends the call, and with it a response in the foreground once the time has passed that its key leaves for a retry: thirty
   * seconds by default. The call then rejects with the signal's reason.
   */
  signal?: AbortSignal;
}

export interface CreateOptions extends CallOptions {
  /** At most 255 visible ASCII characters. Default: a new one for each call. */
  idempotencyKey?: string;
}

/** A caller of a service. It holds no connection while nothing is under way, and need not be closed. */
export interface Client {
  /** Creates a response and waits for its end or, in the background, until it is accepted. A failed one is an {@link ApiError}. */
  create(request: CreateRequest, options?: CreateOptions): Promise<ResponseObject>;
  /** Creates a response and yields its events as they come. It is created when they are first asked for. */
  stream(request: CreateRequest, options?: CreateOptions): AsyncGenerator<ResponseEvent, void, undefined>;
  /** Yields the events of a response behind one, or all of them, until its end. */
  follow(
    id: string,
    options?: CallOptions & { startingAfter?: number },
  ): AsyncGenerator<ResponseEvent, void, undefined>;
  /** The response as it stands. */
  retrieve(id: string, options?: CallOptions): Promise<ResponseObject>;
  /** Waits for the end of a response, whatever that is. */
  wait(id: string, options?: CallOptions): Promise<ResponseObject>;
  /** Ends a response. One that has ended is returned as it is. */
  cancel(id: string, options?: CallOptions): Promise<ResponseObject>;
  /** Takes a response away for good. */
  delete(id: string, options?: CallOptions): Promise<DeletedResponse>;
}

const defaultIdleMs = 45_000;

/** Behind the last event of any response. */
const behindAll = Number.MAX_SAFE_INTEGER;

/**
 * Makes a client.
 *
 * Every call is repeated while the server cannot be reached or asks to try later, within {@link RetryPolicy}. No repetition
 * runs anything twice: creations carry an Idempotency-Key.
 */
export function createClient({
  baseUrl,
  baseUrls = baseUrl === undefined ? [] : [baseUrl],
  apiKey,
  fetch: givenFetch,
  retry,
  idleMs = defaultIdleMs,
}: ClientOptions): Client {
  const urls = new BaseUrls(baseUrls);
  const policy = { ...defaultRetryPolicy, ...retry };
  const exchanging: ExchangeOptions = {
    apiKey,
    // Browsers refuse a fetch that is called as a method of something else.
    fetch: givenFetch ?? ((input, init) => globalThis.fetch(input, init)),
    idleMs,
  };

  /** The JSON of the answer, and how many attempts had failed before it. */
  async function send<Body>(
    call: Call,
    signal: AbortSignal | undefined,
    rescue: (error: unknown, failures: number) => Body | undefined = () => undefined,
  ): Promise<Body> {
    const attempts = new Attempts({ policy, urls, signal });
    for (;;) {
      const url = urls.current;
      try {
        return await jsonOf<Body>(await exchange(url, call, exchanging, signal), signal);
      } catch (error) {
        const rescued = rescue(error, attempts.failures);
        if (rescued !== undefined) return rescued;
        await attempts.failed(error, url);
      }
    }
  }

  const pathOf = (id: string) => `/responses/${encodeURIComponent(id)}`;

  const client: Client = {
    create(request, { signal, idempotencyKey = newKey() } = {}) {
      return send(
        { method: 'POST', path: '/responses', body: { ...request, stream: false }, idempotencyKey },
        signal,
      );
    },
    stream(request, { signal, idempotencyKey = newKey() } = {}) {
      const body = { ...request, stream: true };
      return followEvents({
        policy,
        urls,
        signal,
        exchange: exchanging,
        creation: { method: 'POST', path: '/responses', body, idempotencyKey },
        startingAfter: -1,
      });
    },
    follow(id, { signal, startingAfter = -1 } = {}) {
      return followEvents({ policy, urls, signal, exchange: exchanging, responseId: id, startingAfter });
    },
    retrieve(id, { signal } = {}) {
      return send({ method: 'GET', path: pathOf(id) }, signal);
    },
    async wait(id, options = {}) {
      for (;;) {
        const response = await client.retrieve(id, options);
        if (isTerminal(response.status)) return response;
        // A stream behind its last event brings nothing but the end, and keeps the response wanted.
        await untilEnd(client.follow(id, { ...options, startingAfter: behindAll }));
      }
    },
    cancel(id, { signal } = {}) {
      return send({ method: 'POST', path: `${pathOf(id)}/cancel` }, signal);
    },
    delete(id, { signal } = {}) {
      // The answer to an earlier attempt may have been lost.
      const done = { id, object: 'response.deleted', deleted: true } as const;
      const isDone = (error: unknown, failures: number) =>
        failures > 0 && error instanceof ApiError && error.status === 404;
      return send<DeletedResponse>({ method: 'DELETE', path: pathOf(id) }, signal, (error, failures) =>
        isDone(error, failures) ? done : undefined,
      );
    },
  };
  return client;
}

async function untilEnd(events: AsyncIterable<ResponseEvent>): Promise<void> {
  try {
    for await (const _event of events);
  } catch (error) {
    // It ended meanwhile, and its events went before it.
    if (!(error instanceof ApiError && error.code === 'stream_expired')) throw error;
  }
}

/** 128 random bits. `crypto.randomUUID` is missing where a page came over plain HTTP. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
