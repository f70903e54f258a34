import { type ReadStream, readStream, type ResponseObject, type StreamEvent } from './read-stream.ts';

/** The body of a request. Tests state only what matters to them. */
export type RequestBody = { input: unknown; model?: string } & Record<string, unknown>;

export interface CallOptions {
  signal?: AbortSignal;
  /** Beside those that every request has. */
  headers?: Record<string, string>;
}

export interface Answer {
  status: number;
  headers: Headers;
  body: ResponseObject;
}

/** A caller of one api that uses no client library. */
export interface Caller {
  /** Creates a response and waits for the whole of it. */
  create: (body: RequestBody, options?: CallOptions) => Promise<Answer>;
  /** Creates a response, reads its stream to the end, and checks the stream against the grammar. */
  stream: (
    body: RequestBody,
    options?: CallOptions & { onEvent?: (event: StreamEvent) => void },
  ) => Promise<ReadStream>;
  get: (id: string, options?: CallOptions) => Promise<Answer>;
}

/** Makes a caller with a key. The model is the simulator unless a request names another. */
export function callerOf(apiUrl: string, key: string): Caller {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const post = (body: RequestBody, { signal, headers: more }: CallOptions) =>
    fetch(`${apiUrl}/v1/responses`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify({ model: 'simulator', ...body }),
      ...(signal && { signal }),
    });
  return {
    async create(body, options = {}) {
      return answerOf(await post(body, options));
    },
    async stream(body, options = {}) {
      const response = await post({ ...body, stream: true }, options);
      if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
      return readStream(response, options.onEvent);
    },
    async get(id, { signal } = {}) {
      return answerOf(await fetch(`${apiUrl}/v1/responses/${id}`, { headers, ...(signal && { signal }) }));
    },
  };
}

async function answerOf(response: Response): Promise<Answer> {
  // Tests check the members they need. The body may also be that of an error.
  const body = (await response.json()) as ResponseObject;
  return { status: response.status, headers: response.headers, body };
}
