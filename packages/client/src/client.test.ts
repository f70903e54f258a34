import { describe, expect, it, vi } from 'vitest';
import { ApiError, createClient, type ResponseEvent, StreamError } from './index.ts';

interface Asked {
  url: string;
  method: string;
  key: string | null;
  body: unknown;
}

/** Waits that a test can wait for; `attempts.test.ts` is about their length. */
const soon = { retry: { firstMs: 1, longestMs: 2 }, idleMs: 50 };

/** A server that answers each request with the next of some answers. */
function server(...answers: (((asked: Asked) => Response | Promise<Response>) | Response)[]) {
  const asked: Asked[] = [];
  const send: typeof fetch = async (input, init) => {
    const { url, method, headers } = new Request(input, init);
    const body: unknown = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined;
    const each = { url, method, key: headers.get('idempotency-key'), body };
    const answer = answers[asked.length];
    asked.push(each);
    if (!answer) throw new TypeError('fetch failed');
    return typeof answer === 'function' ? answer(each) : answer;
  };
  const client = createClient({
    baseUrls: ['http://one/v1', 'http://two/v1/'],
    apiKey: 'k',
    fetch: send,
    ...soon,
  });
  return { client, asked };
}

const unreachable = () => Promise.reject(new TypeError('fetch failed'));
const refused = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json({ error: { message: 'No.', type: 't', code, param: 'p' } }, { status, headers });

const id = 'create-response_1';
const event = (sequence_number: number, type = 'response.output_text.delta') => ({
  type,
  sequence_number,
  ...(/created|queued|completed/.test(type) && { response: { id } }),
});
const created = event(0, 'response.created');
const queued = event(1, 'response.queued');
const frame = (each: object) => `event: x\ndata: ${JSON.stringify(each)}\n\n`;

/** A stream of texts. It breaks off after them, ends as it should, or stays silent. */
function stream(texts: readonly string[], after: 'broken' | 'ended' | 'silent' = 'broken'): Response {
  const encoder = new TextEncoder();
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const text = texts[at];
      at += 1;
      if (text !== undefined) controller.enqueue(encoder.encode(text));
      else if (after === 'ended') controller.close();
      else if (after === 'broken') controller.error(new TypeError('terminated'));
      else return new Promise<void>(() => undefined);
      return undefined;
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

async function collect(events: AsyncIterable<ResponseEvent>): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { sequence_number: number } of events) numbers.push(number);
  return numbers;
}

const request = { model: 'm', input: 'Hi' };

describe('a creation', () => {
  it('is sent again under one key, at the next base URL, until it is answered', async () => {
    const { client, asked } = server(
      unreachable,
      refused(503, 'server_is_overloaded'),
      Response.json({ id }),
    );
    expect(await client.create(request)).toEqual({ id });
    expect(asked.map(({ url }) => url)).toEqual([
      'http://one/v1/responses',
      'http://two/v1/responses',
      'http://one/v1/responses',
    ]);
    expect(new Set(asked.map(({ key }) => key)).size).toBe(1);
    expect(asked[0]?.key).toMatch(/^[\da-f]{32}$/);
    expect(asked[0]?.body).toEqual({ ...request, stream: false });
  });

  it('has a key of its own each time, or the one that it is given', async () => {
    const { client, asked } = server(Response.json({ id }), Response.json({ id }), Response.json({ id }));
    await client.create(request);
    await client.create(request);
    await client.create(request, { idempotencyKey: 'mine' });
    expect(new Set(asked.map(({ key }) => key)).size).toBe(3);
    expect(asked[2]?.key).toBe('mine');
  });

  it('that is refused rejects with what the server says', async () => {
    const { client, asked } = server(refused(400, 'invalid_value', { 'x-request-id': 'req_1' }));
    const error: unknown = await client.create(request).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      name: 'ApiError',
      message: 'No.',
      status: 400,
      code: 'invalid_value',
      param: 'p',
      requestId: 'req_1',
    });
    expect(asked).toHaveLength(1);
  });

  it('is not repeated when the server advises against it', async () => {
    const { client, asked } = server(refused(500, 'model_error', { 'x-should-retry': 'false' }));
    await expect(client.create(request)).rejects.toMatchObject({ code: 'model_error' });
    expect(asked).toHaveLength(1);
  });

  it('rejects with the reason of its caller', async () => {
    const leaving = new AbortController();
    const { client } = server(() => {
      leaving.abort(new Error('enough'));
      return unreachable();
    });
    await expect(client.create(request, { signal: leaving.signal })).rejects.toThrow('enough');
  });
});

describe('a stream', () => {
  it('goes on behind its last event at the next base URL, without gap or repeat', async () => {
    const { client, asked } = server(
      stream([frame(created) + frame(queued), frame(event(2)), frame(event(3)).slice(0, 20)]),
      stream([frame(event(2)), frame(event(3)), frame(event(4))], 'ended'),
      stream([frame(event(5, 'response.completed'))], 'silent'),
    );
    expect(await collect(client.stream(request))).toEqual([0, 1, 2, 3, 4, 5]);
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST http://one/v1/responses',
      `GET http://two/v1/responses/${id}?stream=true&starting_after=2`,
      `GET http://one/v1/responses/${id}?stream=true&starting_after=4`,
    ]);
  });

  it('is created again, under the same key, when it broke before its first event', async () => {
    const whole = [frame(created), frame(event(1, 'response.completed'))];
    const { client, asked } = server(stream([': ping\n\n']), stream(whole));
    expect(await collect(client.stream(request))).toEqual([0, 1]);
    expect(asked.map(({ method }) => method)).toEqual(['POST', 'POST']);
    expect(asked[0]?.key).toBe(asked[1]?.key);
  });

  it('that has nothing to tell is followed for as long as its connections live', async () => {
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
    const silent = Array.from({ length: 30 }, () => stream([': ping\n\n', ': ping\n\n']));
    const { client, asked } = server(
      stream([frame(created)]),
      ...silent,
      stream([frame(event(1, 'response.completed'))]),
    );
    expect(await collect(client.stream(request))).toEqual([0, 1]);
    expect(asked).toHaveLength(32);
    clock.mockRestore();
  });

  it('shows no repetition of the latest step', async () => {
    const { client } = server(
      stream([
        frame(event(0, 'response.queued')),
        frame(created),
        frame(queued),
        frame(event(1, 'response.queued')),
        frame(event(2, 'response.completed')),
      ]),
    );
    expect(await collect(client.stream(request))).toEqual([0, 1, 2]);
  });

  it('does not step over a gap', async () => {
    const { client, asked } = server(
      stream([frame(created), frame(event(2))], 'silent'),
      stream([frame(queued), frame(event(2, 'response.completed'))]),
    );
    expect(await collect(client.stream(request))).toEqual([0, 1, 2]);
    expect(asked[1]?.url).toContain('starting_after=0');
  });

  it('leaves a connection that is silent for too long', async () => {
    const send = server(stream([frame(created)], 'silent'), stream([frame(event(1, 'response.completed'))]));
    expect(await collect(send.client.stream(request))).toEqual([0, 1]);
    expect(send.asked).toHaveLength(2);
  });

  it('that cannot be followed to its end says how far it came', async () => {
    const { client, asked } = server(stream([frame(created), frame(queued)]));
    const error: unknown = await collect(client.stream(request)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StreamError);
    expect(error).toMatchObject({
      responseId: id,
      lastSequenceNumber: 1,
      cause: { name: 'ConnectionError' },
    });
    expect(asked).toHaveLength(10);
  });

  it('of a response that is unknown rejects at once', async () => {
    const { client } = server(refused(404, 'not_found'));
    await expect(collect(client.follow('x'))).rejects.toMatchObject({ name: 'ApiError', code: 'not_found' });
  });

  it('closes its connection when its reader has enough', async () => {
    let closed: AbortSignal | undefined;
    const client = createClient({
      baseUrl: 'http://one/v1',
      apiKey: 'k',
      fetch: (_input, init) => {
        closed = init?.signal ?? undefined;
        return Promise.resolve(stream([frame(created), frame(queued)], 'silent'));
      },
    });
    for await (const _event of client.stream(request)) break;
    expect(closed?.aborted).toBe(true);
  });

  it('rejects with the reason of its caller while nothing comes', async () => {
    const leaving = new AbortController();
    const client = createClient({
      baseUrl: 'http://one/v1',
      apiKey: 'k',
      fetch: (_input, init) =>
        new Promise((_resolve, reject) => {
          init?.signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
        }),
    });
    const read = expect(collect(client.follow('x', { signal: leaving.signal }))).rejects.toThrow('enough');
    leaving.abort(new Error('enough'));
    await read;
  });
});

describe('a wait', () => {
  it('ends with the response, over a connection that breaks', async () => {
    const { client, asked } = server(
      Response.json({ id, status: 'in_progress' }),
      stream([': ping\n\n']),
      stream(['data: [DONE]\n\n'], 'ended'),
      Response.json({ id, status: 'failed' }),
    );
    expect(await client.wait(id)).toEqual({ id, status: 'failed' });
    expect(asked).toHaveLength(4);
    expect(asked[1]?.url).toContain('starting_after=9007199254740991');
  });
});

describe('a deletion', () => {
  it('whose answer was lost is done', async () => {
    const { client } = server(unreachable, refused(404, 'not_found'));
    expect(await client.delete(id)).toEqual({ id, object: 'response.deleted', deleted: true });
  });

  it('of an unknown response rejects', async () => {
    const { client } = server(refused(404, 'not_found'));
    await expect(client.delete(id)).rejects.toMatchObject({ status: 404 });
  });
});

it('a client needs a base URL', () => {
  expect(() => createClient({ apiKey: 'k' })).toThrow('baseUrl');
});
