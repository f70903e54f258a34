import { FatalError } from '@sluice/runtime';
import { createParser } from 'eventsource-parser';
import { printableLine } from './printable.ts';

/** The address of the service and the key of the caller. */
export interface ApiClientOptions {
  /** Such as `http://127.0.0.1:3000`. */
  url: string;
  /** Begins the path of each call. */
  path: '/v1' | '/v1/responses' | '/admin/v1/responses';
  /** Undefined for a service that asks for none. */
  key: string | undefined;
  /** Whether nobody gave the key, so that it was found in the data folder. */
  isDevelopmentKey: boolean;
}

/** The service cannot be reached, or has no room: the same call may succeed later. */
export class ServiceAway extends FatalError {}

/** A client of the service over HTTP. Failures become a `FatalError` of one line. */
export class ApiClient {
  readonly #options: ApiClientOptions;

  constructor(options: ApiClientOptions) {
    this.#options = options;
  }

  /** `body` is sent as it is, or as JSON where it is a plain object. */
  async json<Body>(method: 'GET' | 'POST', path: string, body?: FormData | object): Promise<Body> {
    const answer = await this.#fetch(method, path, body);
    return (await answer.json()) as Body; // The path decides the body, and the caller knows it.
  }

  /** The bytes of an answer. */
  async bytes(path: string): Promise<ReadableStream<Uint8Array>> {
    const { body } = await this.#fetch('GET', path);
    return body ?? new Blob([]).stream();
  }

  /** The `data:` of each event of a stream, up to `[DONE]`. */
  async *events(path: string): AsyncGenerator<string> {
    const answer = await this.#fetch('GET', path);
    const arrived: string[] = [];
    const parser = createParser({ onEvent: ({ data }) => arrived.push(data) });
    const decoder = new TextDecoder();
    for await (const bytes of untilCut(answer.body)) {
      parser.feed(decoder.decode(bytes, { stream: true }));
      for (const data of arrived.splice(0)) {
        if (data === '[DONE]') return;
        yield data;
      }
    }
    throw new FatalError('The stream was cut before its end; go on with --after and the last number.');
  }

  async #fetch(method: string, path: string, body?: FormData | object): Promise<Response> {
    const { url, path: mount, key, isDevelopmentKey } = this.#options;
    const isJson = body !== undefined && !(body instanceof FormData);
    let answer: Response;
    try {
      answer = await fetch(new URL(`${mount}${path}`, url), {
        method,
        headers: {
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...(isJson && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: isJson ? JSON.stringify(body) : body }),
        redirect: 'error',
      });
    } catch (cause) {
      throw new ServiceAway(`Nothing answers at ${url}: start the service, or name it with --url.`, {
        cause,
      });
    }
    if (answer.ok) return answer;
    if (answer.status === 401 && isDevelopmentKey) {
      throw new FatalError(
        `The service at ${url} does not take the development key of the data folder: set SLUICE_API_KEY or give --key.`,
      );
    }
    const Failure = answer.status >= 500 || answer.status === 429 ? ServiceAway : FatalError;
    throw new Failure(`The service answered ${answer.status}: ${await messageOf(answer)}`);
  }
}

/** The bytes of a body. They end when the connection breaks, as they do when it closes. */
async function* untilCut(body: Response['body']): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  try {
    for (;;) {
      const read = await reader?.read().catch(() => undefined);
      if (read?.value === undefined) return;
      yield read.value;
    }
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
}

async function messageOf(answer: Response): Promise<string> {
  try {
    const body = (await answer.json()) as { error?: { message?: string } }; // Every error of the service has this envelope.
    return printableLine(body.error?.message ?? answer.statusText);
  } catch {
    return answer.statusText;
  }
}
