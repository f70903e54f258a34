import { createServer } from 'node:http';
import {
  eventually,
  type FakeUpstream,
  freePort,
  startFakeUpstream,
  type UpstreamHandler,
} from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Endpoint, readUrl } from './endpoint.ts';
import type { Outcome } from './outcome.ts';
import type { Mode } from '../load/request-bodies.ts';
import { sendRequest } from './send-request.ts';
import { Tally } from '../report/tally.ts';

let upstream: FakeUpstream;
let endpoint: Endpoint;
let tally: Tally;

beforeEach(async () => {
  upstream = await startFakeUpstream();
  endpoint = endpointAt(upstream.baseUrl);
  tally = new Tally();
});
afterEach(async () => {
  await endpoint.close();
  await upstream.close();
});

function endpointAt(url: string): Endpoint {
  return new Endpoint({ url: readUrl(url), headers: { 'x-team': 'blue' } });
}

interface Sent {
  retries?: number;
  timeoutMs?: number;
  ending?: AbortController;
  to?: Endpoint;
}

function send(mode: Mode, options: Sent = {}): Promise<Outcome> {
  const { retries = 0, timeoutMs = 10_000, ending = new AbortController(), to = endpoint } = options;
  return sendRequest(
    { mode, tenant: { name: 'a', key: 'sk-a' }, body: '{"input":"Hi"}' },
    { endpoint: to, retries, timeoutMs, ending, witness: tally, pollIntervalMs: 10 },
  );
}

const usage = { input_tokens: 7, output_tokens: 3, total_tokens: 10 };
const completed = { id: 'resp_1', status: 'completed', output: [], usage };
const failed = {
  id: 'resp_1',
  status: 'failed',
  error: { code: 'model_error', message: 'The model failed.' },
};
const delta = { type: 'response.output_text.delta', delta: 'a' };

/** Answers with these outcomes, one for each request; the last one stays. */
function inTurn(...handlers: UpstreamHandler[]): UpstreamHandler {
  let next = 0;
  return (exchange) => {
    const handler = handlers[Math.min(next, handlers.length - 1)];
    next += 1;
    return handler?.(exchange);
  };
}

describe('a request for a whole response', () => {
  it('is answered, with the tokens that the endpoint counts', async () => {
    upstream.onResponses(({ json }) => json(200, completed));
    expect(await send('whole')).toEqual({
      kind: 'answered',
      endedAt: expect.any(Number),
      tokens: { input: 7, output: 3 },
      deltas: 0,
    });
    expect(upstream.requests[0]).toMatchObject({
      body: { input: 'Hi' },
      headers: { authorization: 'Bearer sk-a', 'x-team': 'blue', 'content-type': 'application/json' },
    });
  });

  it.each([
    [{ output: [] }, { kind: 'answered', tokens: undefined }],
    [
      { ...completed, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
      { kind: 'answered' },
    ],
    [
      failed,
      { kind: 'failed', failure: { kind: 'response', code: 'model_error', message: 'The model failed.' } },
    ],
    [
      { ...completed, status: 'cancelled' },
      { kind: 'failed', failure: { kind: 'response', code: 'cancelled' } },
    ],
    [
      { ...completed, status: 'incomplete', incomplete_details: { reason: 'cancelled' } },
      { kind: 'failed', failure: { code: 'cancelled' } },
    ],
    [
      { id: 'x', status: 'queued' },
      { kind: 'failed', failure: { kind: 'bad_answer' } },
    ],
    ['text', { kind: 'failed', failure: { kind: 'bad_answer' } }],
    [{}, { kind: 'failed', failure: { kind: 'bad_answer' } }],
  ])('answered with %j', async (body, outcome) => {
    upstream.onResponses(({ json }) => json(200, body));
    expect(await send('whole')).toMatchObject(outcome);
  });

  it.each([
    [400, { error: { code: 'invalid_value', message: 'No.' } }, { code: 'invalid_value', message: 'No.' }],
    [500, { error: { type: 'server_error', code: null } }, { code: 'server_error', message: '' }],
    [404, { error: 'no such\u001b[31m model' }, { message: 'no such [31m model' }],
    [401, { message: 'x'.repeat(500), code: 40_101 }, { code: '40101', message: `${'x'.repeat(199)}…` }],
    [502, 'Bad gateway', { message: '' }],
  ])('refused with %i is an error with its code', async (status, body, failure) => {
    upstream.onResponses(({ json }) => json(status, body));
    expect(await send('whole')).toEqual({
      kind: 'failed',
      failure: { kind: 'status', status, isRetryable: status >= 500, ...failure },
    });
  });

  it('cut off before its answer is a lost connection', async () => {
    upstream.onResponses(({ cut }) => cut());
    expect(await send('whole')).toMatchObject({
      kind: 'failed',
      failure: { kind: 'connection', code: expect.stringMatching(/^(ECONNRESET|UND_ERR_SOCKET)$/) },
    });
  });

  it('to a port on which nothing listens is a lost connection', async () => {
    const nowhere = endpointAt(`http://127.0.0.1:${await freePort()}/v1`);
    expect(await send('whole', { to: nowhere })).toMatchObject({
      kind: 'failed',
      failure: { kind: 'connection', code: 'ECONNREFUSED' },
    });
    await nowhere.close();
  });

  it('that takes longer than its time-out ends then, and its connection is closed', async () => {
    upstream.onResponses(({ hang }) => hang());
    expect(await send('whole', { timeoutMs: 300 })).toMatchObject({
      kind: 'failed',
      failure: { kind: 'timeout', message: 'no end within 300 ms' },
    });
    expect(await upstream.requests[0]?.ended).toBe('aborted');
  });

  it('that is given up is unfinished', async () => {
    upstream.onResponses(({ hang }) => hang());
    const ending = new AbortController();
    const sent = send('whole', { ending });
    await upstream.request(0);
    ending.abort();
    expect(await sent).toEqual({ kind: 'unfinished' });
    expect(await upstream.requests[0]?.ended).toBe('aborted');
  });
});

describe('a request for a stream', () => {
  it('is answered at its terminal event, with its deltas and the first one of them', async () => {
    upstream.onResponses(async ({ stream }) => {
      const events = stream();
      await events.event('response.created', { response: { ...completed, status: 'in_progress' } });
      await events.event('response.reasoning_text.delta', delta);
      await events.event(delta.type, delta);
      await events.event(delta.type, delta);
      await events.event('response.completed', { type: 'response.completed', response: completed });
      events.done();
    });
    const before = performance.now();
    const outcome = await send('stream');
    expect(outcome).toMatchObject({ kind: 'answered', tokens: { output: 3 }, deltas: 3 });
    const { firstDeltaAt = 0, endedAt } = outcome as Extract<Outcome, { kind: 'answered' }>;
    expect(firstDeltaAt).toBeGreaterThan(before);
    expect(endedAt).toBeGreaterThanOrEqual(firstDeltaAt);
    expect(tally.timeBetweenTokens.count).toBe(2);
    expect(upstream.requests[0]?.headers.accept).toBe('text/event-stream');
  });

  it('may have events without names', async () => {
    upstream.onResponses(async ({ stream }) => {
      const events = stream();
      await events.send(delta);
      await events.send({ type: 'response.completed', response: completed });
      events.done();
    });
    expect(await send('stream')).toMatchObject({ kind: 'answered', deltas: 1 });
  });

  it('leaves its connection to those after it', async () => {
    upstream.onResponses(async ({ stream }) => {
      const events = stream();
      await events.event('response.completed', { response: completed });
      events.done();
    });
    for (let at = 0; at < 10; at++) await send('stream');
    // The next request may come a moment before the connection is free again.
    expect(upstream.openSockets).toBeLessThanOrEqual(2);
  });

  const twoDeltas = `event: ${delta.type}\ndata: {}\n\n`.repeat(2);
  /** Waits until the tool has taken what came with two deltas. */
  const taken = () => eventually(() => tally.timeBetweenTokens.count === 1);

  it('is answered also if its connection breaks after the terminal event', async () => {
    upstream.onResponses(async ({ stream }) => {
      const events = stream();
      const end = JSON.stringify({ response: completed });
      await events.raw(`${twoDeltas}event: response.completed\ndata: ${end}\n\n`);
      await taken();
      events.cut();
    });
    expect(await send('stream')).toMatchObject({ kind: 'answered', deltas: 2 });
  });

  it('that is cut in the middle is a broken stream', async () => {
    upstream.onResponses(async ({ stream }) => {
      const events = stream();
      await events.raw(`${twoDeltas}data: {"half`);
      await taken();
      events.cut();
    });
    expect(await send('stream', { retries: 3 })).toMatchObject({
      kind: 'failed',
      failure: { kind: 'broken_stream', code: expect.stringMatching(/^(ECONNRESET|UND_ERR_SOCKET)$/) },
    });
    expect(upstream.requests).toHaveLength(1);
  });

  it.each<[string, UpstreamHandler, object]>([
    [
      'ends without a terminal event',
      async ({ stream }) => {
        const events = stream();
        await events.event(delta.type, delta);
        events.end();
      },
      { kind: 'broken_stream', message: 'ended without a terminal event' },
    ],
    [
      'ends with [DONE] alone',
      ({ stream }) => stream().done(),
      { kind: 'broken_stream', message: 'ended without a terminal event' },
    ],
    [
      'fails',
      async ({ stream }) => {
        const events = stream();
        await events.event('error', { type: 'error', code: 'other', message: 'Earlier.' });
        await events.event('response.failed', { type: 'response.failed', response: failed });
        events.done();
      },
      { kind: 'response', code: 'model_error' },
    ],
    [
      'ends after an error event',
      async ({ stream }) => {
        const events = stream();
        await events.event('error', { type: 'error', error: { code: 'overloaded', message: 'Busy.' } });
        events.end();
      },
      { kind: 'response', code: 'overloaded', message: 'Busy.' },
    ],
    ['is no event stream', ({ json }) => json(200, completed), { kind: 'bad_answer' }],
    [
      'is refused',
      ({ json }) => json(503, { error: { code: 'full' } }),
      { kind: 'status', status: 503, code: 'full' },
    ],
  ])('that %s is an error', async (_, handler, failure) => {
    upstream.onResponses(handler);
    expect(await send('stream')).toMatchObject({ kind: 'failed', failure });
  });

  it('that falls silent ends with the time-out', async () => {
    upstream.onResponses(async ({ stream, hang }) => {
      await stream().event(delta.type, delta);
      await hang();
    });
    expect(await send('stream', { timeoutMs: 100 })).toMatchObject({ failure: { kind: 'timeout' } });
  });

  it('that does not close after its terminal event is answered, and its connection closed', async () => {
    upstream.onResponses(async ({ stream, hang }) => {
      await stream().event('response.completed', { response: completed });
      await hang();
    });
    expect(await send('stream')).toMatchObject({ kind: 'answered' });
    expect(await upstream.requests[0]?.ended).toBe('aborted');
  });
});

describe('a request in the background', () => {
  const accepted: UpstreamHandler = ({ json }) => json(200, { id: 'resp_1', status: 'queued' });
  const at =
    (status: string): UpstreamHandler =>
    ({ json }) =>
      json(200, { id: 'resp_1', status });

  it('is polled to its end', async () => {
    upstream.onResponses(accepted);
    upstream.onOther(inTurn(at('queued'), at('in_progress'), ({ json }) => json(200, completed)));
    const outcome = await send('background');
    expect(outcome).toMatchObject({ kind: 'answered', tokens: { output: 3 } });
    const { acceptedAt = 0, endedAt } = outcome as Extract<Outcome, { kind: 'answered' }>;
    expect(endedAt).toBeGreaterThan(acceptedAt);
    expect(upstream.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v1/responses',
      ...Array.from({ length: 3 }, () => 'GET /v1/responses/resp_1'),
    ]);
    expect(tally.polls).toBe(3);
  });

  it('that fails is an error', async () => {
    upstream.onResponses(accepted);
    upstream.onOther(({ json }) => json(200, failed));
    expect(await send('background')).toMatchObject({ failure: { kind: 'response', code: 'model_error' } });
  });

  it('goes on after a poll that was limited, as long as it was told to wait', async () => {
    upstream.onResponses(accepted);
    const limited: UpstreamHandler = ({ json }) => json(429, { error: {} }, { 'retry-after-ms': '30' });
    upstream.onOther(inTurn(limited, ({ json }) => json(200, completed)));
    expect(await send('background')).toMatchObject({ kind: 'answered' });
    expect(tally.limitedCount).toBe(1);
    expect(tally.retryAfter.distribution()).toMatchObject({ max: 30 });
  });

  it.each<[string, UpstreamHandler]>([
    ...[408, 500, 502, 504].map((status): [string, UpstreamHandler] => [
      `was answered with ${status}`,
      ({ json }) => json(status, {}),
    ]),
    ['was cut off', ({ cut }) => cut()],
  ])('goes on after a poll that %s, and is not sent again', async (_, lost) => {
    upstream.onResponses(accepted);
    for (const retries of [0, 3]) {
      upstream.onOther(inTurn(lost, ({ json }) => json(200, completed)));
      expect(await send('background', { retries })).toMatchObject({ kind: 'answered' });
    }
    expect(upstream.requests.map(({ method }) => method)).toEqual([
      'POST',
      'GET',
      'GET',
      'POST',
      'GET',
      'GET',
    ]);
    expect(tally.retries).toBe(0);
  });

  it('is not sent again when its polls fail until its time-out', async () => {
    upstream.onResponses(accepted);
    upstream.onOther(({ cut }) => cut());
    const outcome = await send('background', { retries: 3, timeoutMs: 300 });
    expect(outcome).toMatchObject({ failure: { kind: 'timeout' } });
    expect(upstream.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('waits until its time-out when a poll is told to come back much later', async () => {
    upstream.onResponses(accepted);
    upstream.onOther(({ json }) => json(503, {}, { 'retry-after': '99999999' }));
    expect(await send('background', { timeoutMs: 500 })).toMatchObject({ failure: { kind: 'timeout' } });
    expect(tally.polls).toBe(1);
  });

  it('that is gone when it is polled is an error', async () => {
    upstream.onResponses(accepted);
    expect(await send('background')).toMatchObject({ failure: { kind: 'status', status: 404 } });
  });

  it('that does not end is a time-out', async () => {
    upstream.onResponses(accepted);
    upstream.onOther(at('queued'));
    expect(await send('background', { timeoutMs: 100 })).toMatchObject({ failure: { kind: 'timeout' } });
  });
});

describe('a request that is refused', () => {
  const limited: UpstreamHandler = ({ json }) =>
    json(429, { error: { code: 'rate_limit_exceeded' } }, { 'retry-after-ms': '40' });
  const good: UpstreamHandler = ({ json }) => json(200, completed);

  it('is not tried again by default, and says how long it was told to wait', async () => {
    upstream.onResponses(({ json }) => json(429, { error: { code: 'x' } }, { 'retry-after': '2' }));
    expect(await send('whole')).toMatchObject({ failure: { status: 429, retryAfterMs: 2000 } });
    expect(upstream.requests).toHaveLength(1);
    expect([tally.limitedCount, tally.retries]).toEqual([1, 0]);
    expect(tally.retryAfter.distribution()).toMatchObject({ max: 2000 });
  });

  it('is tried again after the time that it was told to wait', async () => {
    let isLimited = false;
    const limitedForNow: UpstreamHandler = (exchange) => {
      isLimited = true;
      setTimeout(() => {
        isLimited = false;
      }, 40);
      return limited(exchange);
    };
    let early = 0;
    const inOrder = inTurn(limitedForNow, limitedForNow, good);
    upstream.onResponses((exchange) => {
      if (isLimited) early += 1;
      return inOrder(exchange);
    });
    expect(await send('whole', { retries: 3 })).toMatchObject({ kind: 'answered' });
    expect(early).toBe(0);
    expect([tally.limitedCount, tally.retries]).toEqual([2, 2]);
  });

  it('is tried again so often and no more', async () => {
    upstream.onResponses(limited);
    expect(await send('whole', { retries: 2 })).toMatchObject({ failure: { status: 429 } });
    expect(upstream.requests).toHaveLength(3);
  });

  it('is tried again after a lost connection', async () => {
    upstream.onResponses(inTurn(({ cut }) => cut(), good));
    expect(await send('whole', { retries: 1 })).toMatchObject({ kind: 'answered' });
  });

  it.each([
    ['is wrong', 400, {}],
    ['says that it is of no use', 500, { 'x-should-retry': 'false' }],
    ['asks for more time than there is', 429, { 'retry-after': '60' }],
    ['names a moment that is too late', 503, { 'retry-after': new Date(Date.now() + 60_000).toUTCString() }],
  ])('is not tried again when the answer %s', async (_, status, headers) => {
    upstream.onResponses(({ json }) => json(status, { error: {} }, { ...headers }));
    expect(await send('whole', { retries: 5 })).toMatchObject({ failure: { kind: 'status', status } });
    expect(upstream.requests).toHaveLength(1);
  });
});

it('takes the length of an answer as it comes, in pieces of characters', async () => {
  const text = JSON.stringify({ ...completed, output_text: 'é€😀'.repeat(1000) });
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    for (const byte of Buffer.from(text)) response.write(Buffer.of(byte));
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const other = endpointAt(`http://127.0.0.1:${port}/v1`);
  expect(await send('whole', { to: other })).toMatchObject({ kind: 'answered' });
  await other.close();
  server.close();
});
