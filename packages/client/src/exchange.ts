import { ConnectionError, errorOf } from './errors.ts';

export interface Call {
  method: 'GET' | 'POST' | 'DELETE';
  /** Below the base URL. */
  path: string;
  /** Sent as JSON. */
  body?: unknown;
  idempotencyKey?: string;
}

export interface ExchangeOptions {
  apiKey: string;
  fetch: typeof fetch;
  /** How long a stream may be silent before its connection counts as dead, in milliseconds. */
  idleMs: number;
}

/**
 * One request at one base URL.
 *
 * @throws {ApiError | ConnectionError} or the signal's reason.
 */
export async function exchange(
  url: string,
  { method, path, body, idempotencyKey }: Call,
  { apiKey, fetch: send }: ExchangeOptions,
  signal: AbortSignal | undefined,
): Promise<Response> {
  let answer: Response;
  try {
    answer = await send(url + path, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  } catch (error) {
    throw brokenOff(error, signal);
  }
  if (!answer.ok) throw await errorOf(answer);
  return answer;
}

/** The JSON of an answer. */
export async function jsonOf<Body>(answer: Response, signal: AbortSignal | undefined): Promise<Body> {
  try {
    return (await answer.json()) as Body; // The server answers a route with one shape; tests hold it against the contract.
  } catch (error) {
    throw brokenOff(error, signal);
  }
}

/** The text of each frame of an event stream. Comments are none, and are heard as everything is. */
export async function* framesOf(
  call: (signal: AbortSignal) => Promise<Response>,
  { idleMs }: Pick<ExchangeOptions, 'idleMs'>,
  outer: AbortSignal | undefined,
  onHeard: () => void = () => undefined,
): AsyncGenerator<string, void, undefined> {
  const connection = new AbortController();
  const leave = () => connection.abort(outer?.reason);
  outer?.addEventListener('abort', leave, { once: true });
  if (outer?.aborted) leave();
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Whatever arrives counts, comments included. */
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      connection.abort(new ConnectionError(`The server sent nothing for ${idleMs} ms.`));
    }, idleMs);
  };
  try {
    alive();
    const { body } = await call(connection.signal);
    if (!body) throw new ConnectionError('The answer has no body.');
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    // Not every fetch that is passed in ends its body with its signal.
    connection.signal.addEventListener('abort', () => void reader.cancel().catch(() => undefined));
    const parser = new FrameParser();
    for (;;) {
      const { done, value } = await reader.read();
      // Its consumer may take its time with what came.
      clearTimeout(timer);
      connection.signal.throwIfAborted();
      if (done) return;
      onHeard();
      yield* parser.push(value);
      alive();
    }
  } catch (error) {
    throw brokenOff(error, connection.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', leave);
    // Also when the consumer has enough: nobody reads the rest.
    connection.abort();
  }
}

/** Splits the text of an event stream into the data of its events, whatever pieces it comes in. */
export class FrameParser {
  #line = '';
  #data: string[] = [];

  *push(text: string): Generator<string, void, undefined> {
    let from = 0;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
      const line = (this.#line + text.slice(from, at)).replace(/\r$/, '');
      this.#line = '';
      from = at + 1;
      if (line.startsWith('data:')) this.#data.push(line.slice(line[5] === ' ' ? 6 : 5));
      else if (line === '' && this.#data.length > 0) {
        const data = this.#data.join('\n');
        this.#data = [];
        yield data;
      }
    }
    this.#line += text.slice(from);
  }
}

/** The reason of an aborted signal, an error of ours as it is, and any other one as that of a connection. */
function brokenOff(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof Error && error.name === 'ApiError') return error;
  if (error instanceof ConnectionError) return error;
  return new ConnectionError('The connection to the server failed.', { cause: error });
}
