import { type ReadStream, readStream, type StreamEvent } from './read-stream.ts';

/** What a request may say. Tests state only what matters to them. */
export type RequestBody = { input: unknown; model?: string } & Record<string, unknown>;

/** A response object, as far as tests look into it. */
export interface ResponseObject {
  id: string;
  object: string;
  status: string;
  output: { type: string; status?: string; content?: { type: string; text?: string }[] }[];
  output_text: string;
  error: { code: string; message: string } | null;
  usage: { input_tokens: number; output_tokens: number; total_tokens: number } | null;
}

export interface CallOptions {
  signal?: AbortSignal;
  mount?: '/v1' | '/api/v1';
}

export interface Answer {
  status: number;
  headers: Headers;
  body: ResponseObject;
}

/** A caller of one api, without a client library between it and the bytes. */
export interface Caller {
  /** Creates a response and waits for all of it. */
  create: (body: RequestBody, options?: CallOptions) => Promise<Answer>;
  /** Creates a response and reads its stream to the end; the stream has been checked against the grammar. */
  stream: (
    body: RequestBody,
    options?: CallOptions & { onEvent?: (event: StreamEvent) => void },
  ) => Promise<ReadStream>;
  get: (id: string, options?: CallOptions) => Promise<Answer>;
}

/** A caller with a key; the model is the simulator unless a request names another. */
export function callerOf(apiUrl: string, key: string): Caller {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const post = (body: RequestBody, { signal, mount = '/v1' }: CallOptions) =>
    fetch(`${apiUrl}${mount}/responses`, {
      method: 'POST',
      headers,
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
    async get(id, { signal, mount = '/v1' } = {}) {
      return answerOf(
        await fetch(`${apiUrl}${mount}/responses/${id}`, { headers, ...(signal && { signal }) }),
      );
    },
  };
}

async function answerOf(response: Response): Promise<Answer> {
  // Tests expect what they need of it, an error's body included.
  const body = (await response.json()) as ResponseObject;
  return { status: response.status, headers: response.headers, body };
}
