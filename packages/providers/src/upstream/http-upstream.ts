import type { Readable } from 'node:stream';
import type { Printed } from '@sluice/contract/print-long';
import type { Agent } from 'undici';
import { EventStream } from './event-stream.ts';
import { JsonAnswer } from './json-answer.ts';
import type { Timeouts } from './silence-timer.ts';
import { ProviderError, type ReadPace } from '../provider.ts';
import { upstreamAgent } from './upstream-agent.ts';

export interface HttpUpstreamSettings {
  id: string;
  /** The address without the route, such as `http://127.0.0.1:8000/v1`. A query is kept. It may be private. */
  baseUrl: string;
  /** The IP address to connect to, in place of what the host of `baseUrl` resolves to. */
  address?: string | undefined;
  /** Sent as a bearer token, unless `headers` has an `authorization` of its own. */
  apiKey?: string | undefined;
  /** The environment variable that `apiKey` is from. Where that is absent, each call fails. */
  apiKeyVariable?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}

export interface UpstreamCall {
  /** The route below the base URL, with a leading slash. */
  path: string;
  /** JSON, or its bytes. */
  body: Printed;
  signal: AbortSignal;
  /** Sent as the header of this name; undefined for none. */
  traceparent: string | undefined;
  echoBytes: number;
  repeatsAnswer: boolean;
  pace: ReadPace | undefined;
}

/**
 * The only place that speaks HTTP to an upstream.
 *
 * It has an agent of its own, so no other request shares its connections. Private addresses of the operator are
 * allowed here only, certificates are always verified, and redirects are not followed. It uses HTTP/1.1 alone:
 * closing a call then closes its socket, which makes model servers stop generating.
 */
export class HttpUpstream {
  readonly #settings: HttpUpstreamSettings;
  readonly #timeouts: Timeouts;
  readonly #agent: Agent;
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #running = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;

  /** @throws {TypeError} when the base URL is not a URL. */
  constructor(settings: HttpUpstreamSettings, timeouts: Timeouts) {
    this.#settings = settings;
    this.#timeouts = timeouts;
    this.#url = new URL(settings.baseUrl);
    this.#headers = requestHeaders(settings);
    this.#agent = upstreamAgent(timeouts, settings.address);
  }

  /**
   * Begins a call, of one request or several. `close` waits until the returned function is called, also while no request is under way.
   *
   * @throws {ProviderError} when the upstream is closed, or its key is absent.
   */
  begin(): () => void {
    this.#checkOpen();
    this.#checkKey();
    const over = Promise.withResolvers<void>();
    this.#running.add(over.promise);
    return () => {
      this.#running.delete(over.promise);
      over.resolve();
    };
  }

  /**
   * Sends a request of a call that has begun, and returns the value of its answer, which is JSON.
   *
   * @throws {ProviderError} when the upstream fails; otherwise the reason of the signal.
   */
  async ask({
    path,
    body,
    signal,
    traceparent,
  }: Pick<UpstreamCall, 'path' | 'body' | 'signal' | 'traceparent'>): Promise<unknown> {
    signal.throwIfAborted();
    const answer = new JsonAnswer({ providerId: this.#settings.id, timeouts: this.#timeouts, signal });
    const over = answer.over.finally(() => this.#running.delete(over));
    this.#running.add(over);
    this.#dispatch({ path, body, traceparent, accept: 'application/json' }, answer);
    return answer.value;
  }

  /** Sends the request of a call that has begun, and returns its events. The caller has to release the stream, for which `close` waits as well. */
  open(call: UpstreamCall): EventStream {
    const stream = new EventStream({
      providerId: this.#settings.id,
      timeouts: this.#timeouts,
      signal: call.signal,
      echoBytes: call.echoBytes,
      repeatsAnswer: call.repeatsAnswer,
      pace: call.pace,
    });
    const over = stream.over.finally(() => this.#running.delete(over));
    this.#running.add(over);
    if (call.signal.aborted) return stream;
    this.#dispatch(call, stream);
    return stream;
  }

  #checkOpen(): void {
    if (!this.#closing) return;
    throw new ProviderError('upstream_error', `Provider '${this.#settings.id}' is closed.`, {
      disposition: 'retry',
    });
  }

  /** Counts as a refusal of the upstream, which would come: another route is called at once, and another worker may have the key. */
  #checkKey(): void {
    const { id, apiKey, apiKeyVariable } = this.#settings;
    if (apiKeyVariable === undefined || apiKey !== undefined) return;
    throw new ProviderError(
      'upstream_error',
      `Provider '${id}' needs the environment variable ${apiKeyVariable}, which this process does not have.`,
      { disposition: 'retry', fault: 'refused' },
    );
  }

  #dispatch(
    {
      path,
      body,
      traceparent,
      accept,
    }: Pick<UpstreamCall, 'path' | 'body' | 'traceparent'> & { accept?: string },
    handler: EventStream | JsonAnswer,
  ): void {
    const bytes = bytesOf(body);
    try {
      this.#agent.dispatch(
        {
          origin: this.#url.origin,
          path: this.#url.pathname.replace(/\/+$/, '') + path + this.#url.search,
          method: 'POST',
          headers: {
            ...this.#headers,
            ...(accept !== undefined && { accept }),
            ...(traceparent !== undefined && { traceparent }),
            'content-length': String(bytes.byteLength),
          },
          body: bytes.byteLength < longFrom ? bytes : sentOnce(bytes),
        },
        handler,
      );
    } catch (error) {
      handler.onResponseError(undefined, error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Refuses new calls, waits for the running ones, and closes every connection. Safe to call twice. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      // One that runs may send another request.
      while (this.#running.size > 0) await Promise.all(this.#running);
      await this.#agent.destroy();
    })();
    return this.#closing;
  }
}

/** A body of so many bytes is given away as it is sent. */
const longFrom = 16 * 1024;

/** undici keeps a body for as long as its answer lasts. Of this one nothing is left once it was sent. */
function sentOnce(bytes: Buffer): Readable {
  const unsent = [bytes];
  const next = (): IteratorResult<Buffer> => {
    const value = unsent.pop();
    return value ? { done: false, value } : { done: true, value: undefined };
  };
  const body: Iterable<Buffer> = { [Symbol.iterator]: () => ({ next }) };
  return body as unknown as Readable; // undici takes what can be iterated, which its types leave out
}

/** The bytes of JSON. Those of a short one have memory of their own: a part of a pool would keep the whole of that. */
function bytesOf(json: Printed): Buffer {
  if (typeof json !== 'string') return json;
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(json));
  bytes.write(json);
  return bytes;
}

function requestHeaders({ apiKey, headers = {} }: HttpUpstreamSettings): Record<string, string> {
  const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    ...(apiKey !== undefined && apiKey !== '' && { authorization: `Bearer ${apiKey}` }),
    ...own,
    'content-type': 'application/json',
    accept: 'text/event-stream',
    'accept-encoding': 'identity',
  };
}

/** Whether a base URL is OpenAI's own service or Azure's, which differ from other servers in what they accept. */
export function isOpenAiHost(baseUrl: string): boolean {
  const host = URL.parse(baseUrl)?.hostname ?? '';
  return host === 'api.openai.com' || /\.(?:api\.openai\.com|openai\.azure\.com)$/.test(host);
}
