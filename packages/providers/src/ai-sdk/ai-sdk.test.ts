import { setImmediate } from 'node:timers/promises';
import {
  type FakeUpstream,
  freePort,
  latch,
  startFakeUpstream,
  type UpstreamHandler,
  usageOf,
} from '@sluice/testing';
import type { Generation } from '@sluice/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProvider, type Provider, type ProviderChunk, type ProviderTimeouts } from '../index.ts';
import {
  answerVendor,
  recordedEvents,
  recordedStream,
  type SdkVendor,
  sdkVendors,
  vendorSettings,
} from '../../test/sdk-vendors.ts';
import { all, request, run, timeouts } from '../../test/upstream-wires.ts';

let upstream: FakeUpstream;
const providers: Provider[] = [];
beforeEach(async () => {
  upstream = await startFakeUpstream();
});
afterEach(async () => {
  await Promise.all(providers.splice(0).map((provider) => provider.close()));
  await upstream.close();
});

function made(vendor: SdkVendor, more: Partial<ProviderTimeouts> = {}): Provider {
  const provider = createProvider({ ...vendorSettings(vendor, upstream), ...more }, timeouts);
  providers.push(provider);
  return provider;
}

const inputText = (text: string) => ({ type: 'input_text', text });
const tools = [
  {
    type: 'function',
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
  { type: 'function', name: 'get_time' },
];

/** Replays a recorded stream in pieces of some bytes, which split events and characters. */
const replay =
  (name: string): UpstreamHandler =>
  async ({ stream }) => {
    const out = stream();
    const text = recordedStream(name);
    for (let at = 0; at < text.length; at += 100) await out.raw(text.slice(at, at + 100));
    out.end();
  };

function chunksOf(
  vendor: SdkVendor,
  recording: string,
  members: object = { tools },
): Promise<ProviderChunk[]> {
  answerVendor(vendor, upstream, replay(recording));
  return all(run(made(vendor), request(members)));
}

const vendorNamed = (name: string): SdkVendor => {
  const vendor = sdkVendors.find((each) => each.name === name);
  if (!vendor) throw new Error(`there is no vendor ${name}`);
  return vendor;
};
const anthropic = vendorNamed('anthropic');
const google = vendorNamed('google');

const usage = (...counts: Parameters<typeof usageOf>) => ({ type: 'usage', usage: usageOf(...counts) });

describe('recorded streams through the packages of vendors', () => {
  it.each([
    ['anthropic', usage(37, 15, { cached: 12 })],
    ['google', usage(9, 3, { cached: 4 })],
    ['mistral', usage(7, 3)],
  ])('reads text and usage of %s', async (name, counted) => {
    expect(await chunksOf(vendorNamed(name), `${name}-text`)).toEqual([
      { type: 'text', delta: 'Hello' },
      { type: 'text', delta: ' there' },
      counted,
      { type: 'finish', reason: 'stop' },
    ]);
  });

  it.each([
    ['anthropic', ['toolu_01T1x1fJ34qAmk2tNTrN7Up6', 'toolu_01PGxqTS8yq5EzKcRtFT2Lm9']],
    ['google', undefined],
    ['mistral', ['gSIMJiOkT', 'b3JmKq0Zp']],
  ])('reads reasoning and parallel calls of %s', async (name, ids) => {
    const chunks = await chunksOf(vendorNamed(name), `${name}-reasoning-and-parallel-calls`);
    const reasoning = chunks.flatMap((chunk) => (chunk.type === 'reasoning_text' ? [chunk.delta] : []));
    expect(reasoning.join('')).toContain('The user asks twice.');
    const calls = chunks.flatMap((chunk) => (chunk.type === 'function_call' ? [chunk] : []));
    expect(calls.map((call) => call.name)).toEqual(['get_weather', 'get_time']);
    if (ids) expect(calls.map((call) => call.callId)).toEqual(ids);
    const inputs = calls.map(({ callKey }) =>
      chunks.map((chunk) =>
        chunk.type === 'function_arguments' && chunk.callKey === callKey ? chunk.delta : '',
      ),
    );
    expect(inputs.map((deltas) => JSON.parse(deltas.join('')))).toEqual([{ city: 'Oslo' }, {}]);
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'function_call' });
  });

  it('gives reasoning back to Anthropic with what it has signed, and to nobody else', async () => {
    const recording = 'anthropic-reasoning-and-parallel-calls';
    const include = ['reasoning.encrypted_content'];
    const chunks = await chunksOf(anthropic, recording, { tools, include });
    const signed = chunks.flatMap((chunk) => (chunk.type === 'reasoning_opaque' ? [chunk.opaque] : []));
    expect(signed).toEqual([{ origin: 'ai-sdk:up', data: expect.stringContaining('"signature":"EqoBCkg') }]);
    const call = { call_id: 'c1', name: 'get_time' };
    const inputWith = (opaque: object | undefined) => [
      { type: 'message', role: 'user', content: 'Hi' },
      {
        type: 'reasoning',
        summary: [],
        content: [{ type: 'reasoning_text', text: 'The user asks twice.' }],
        opaque,
      },
      { type: 'function_call', ...call, arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'noon' },
    ];
    const toolUse = { type: 'tool_use', id: 'c1' };
    for (const [at, opaque, expected] of [
      [1, signed[0], [{ type: 'thinking', thinking: 'The user asks twice.' }, toolUse]],
      [2, { origin: 'ai-sdk:other', data: signed[0]?.data }, [toolUse]],
      [3, undefined, [toolUse]],
    ] as const) {
      const generation = { ...request({ tools }), input: inputWith(opaque) } as Generation;
      await all(run(made(anthropic), generation));
      const { body } = await upstream.request(at);
      const { messages } = body as { messages: { content: object[] }[] };
      expect(messages[1]?.content).toMatchObject(expected);
    }
    expect(await chunksOf(anthropic, recording)).not.toContainEqual(
      expect.objectContaining({ type: 'reasoning_opaque' }),
    );
  });

  it.each([
    [['\n', 'END'], { stopSequence: 'END' }],
    [['\n'], {}],
  ])('says of an answer of Anthropic that may end before %j which it was', async (stop, told) => {
    const text = recordedStream('anthropic-text').replace(
      '"stop_reason":"end_turn","stop_sequence":null',
      '"stop_reason":"stop_sequence","stop_sequence":"END"',
    );
    expect(text).toContain('"stop_sequence":"END"');
    answerVendor(anthropic, upstream, async ({ stream }) => {
      const out = stream();
      await out.raw(text);
      out.end();
    });
    const chunks = await all(run(made(anthropic), { ...request(), stop }));
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'stop', ...told });
  });

  it('has marks for caches reach Anthropic at every place that has one', async () => {
    answerVendor(anthropic, upstream, replay('anthropic-text'));
    const input = [
      { type: 'message', role: 'system', content: [inputText('Be brief.'), inputText('Be kind.')] },
      { type: 'message', role: 'user', content: [inputText('Look.'), inputText('Now.')] },
      { type: 'function_call', call_id: 'c1', name: 'get_time', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'noon' },
    ];
    const cache_breakpoints = [
      { at: 'tool', index: 1 },
      { at: 'input', index: 0, part: 0, ttl: '1h' },
      { at: 'input', index: 1, part: 1 },
      { at: 'input', index: 3 },
    ];
    await all(run(made(anthropic), { ...request({ tools }), input, cache_breakpoints } as Generation));
    const { body } = await upstream.request(0);
    const cache_control = { type: 'ephemeral' };
    expect(body).toMatchObject({
      tools: [{ name: 'get_weather' }, { name: 'get_time', cache_control }],
      system: [
        { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } },
        { type: 'text', text: 'Be kind.' },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look.' },
            { type: 'text', text: 'Now.', cache_control },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool_use' }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', cache_control }] },
      ],
    });
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(4);
  });

  it.each([
    ['anthropic', 'anthropic-max-tokens', 'max_output_tokens'],
    ['google', 'google-max-tokens', 'max_output_tokens'],
    ['mistral', 'mistral-max-tokens', 'max_output_tokens'],
    ['anthropic', 'anthropic-refusal', 'content_filter'],
    ['google', 'google-safety', 'content_filter'],
  ])('says why %s stopped in %s', async (name, recording, reason) => {
    const chunks = await chunksOf(vendorNamed(name), recording);
    expect(chunks.filter((chunk) => chunk.type === 'text')).toHaveLength(1);
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason });
  });

  it('says that Google blocked the prompt, and fails for a call that its model garbled', async () => {
    const blocked = await chunksOf(google, 'google-blocked-prompt');
    expect(blocked.map((chunk) => chunk.type)).toEqual(['usage', 'finish']);
    expect(blocked.at(-1)).toEqual({ type: 'finish', reason: 'content_filter' });
    await expect(chunksOf(google, 'google-malformed-call')).rejects.toMatchObject({
      code: 'model_error',
      disposition: 'retry',
      fault: undefined,
    });
  });

  it.each([
    ['anthropic', 'anthropic-error-in-stream', 'server_is_overloaded'],
    ['google', 'google-error-in-stream', 'upstream_error'],
  ])(
    'fails for an error of %s in the middle, without words of the upstream',
    async (name, recording, code) => {
      const vendor = vendorNamed(name);
      answerVendor(vendor, upstream, replay(recording));
      const seen: ProviderChunk[] = [];
      const failing = all(run(made(vendor), request()), seen);
      await expect(failing).rejects.toMatchObject({ code, disposition: 'retry' });
      await expect(failing).rejects.not.toThrowError(/secret|127\.0\.0\.1/);
      expect(seen).toEqual([{ type: 'text', delta: 'Hello' }]);
    },
  );

  it('fails before any output when Anthropic is overloaded behind a 200', async () => {
    await expect(chunksOf(anthropic, 'anthropic-overloaded-at-once')).rejects.toMatchObject({
      disposition: 'retry',
      fault: 'refused',
      upstreamStatus: 529,
    });
  });

  describe.each(sdkVendors)('of $name', (vendor) => {
    const recording = `${vendor.name}-text`;
    const events = recordedEvents(recording);

    it.each(['end', 'cut'] as const)('fails when the stream stops before its finish, by %s', async (how) => {
      const mayStop = latch();
      answerVendor(vendor, upstream, async ({ stream }) => {
        const out = stream();
        for (const event of events.slice(0, 1)) await out.raw(event);
        for (const event of events.slice(1)) {
          if (/STOP|"stop"|message_delta|DONE|message_stop/.test(event)) break;
          await out.raw(event);
        }
        await mayStop.wait();
        out[how]();
      });
      const stream = run(made(vendor), request());
      expect((await stream.next()).value).toEqual({ type: 'text', delta: 'Hello' });
      mayStop.open();
      const failure = all(stream).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(await failure).toMatchObject({ code: 'upstream_error', disposition: 'retry', fault: 'broken' });
    });

    it.each([
      [429, 'server_is_overloaded', 'retry', 'limited'],
      [500, 'upstream_error', 'retry', 'refused'],
      [503, 'upstream_error', 'retry', 'limited'],
      [400, 'invalid_prompt', 'fail', undefined],
      [401, 'upstream_error', 'fail', undefined],
      [404, 'upstream_error', 'fail', undefined],
    ])('maps status %i', async (status, code, disposition, fault) => {
      answerVendor(vendor, upstream, ({ json }) => {
        const headers = { 'retry-after': '7', 'request-id': 'req-1' };
        json(status, vendor.errorBody('secret words of the upstream', 'some_error'), headers);
      });
      const failing = all(run(made(vendor), request()));
      await expect(failing).rejects.toMatchObject({
        code,
        disposition,
        fault,
        upstreamStatus: status,
        upstreamRequestId: 'req-1',
        retryAfterMs: disposition === 'retry' ? 7000 : undefined,
      });
      await expect(failing).rejects.not.toThrowError(/secret|127\.0\.0\.1|k1/);
      // The package does not try again.
      expect(upstream.requests).toHaveLength(1);
    });

    it('does not follow a redirect', async () => {
      answerVendor(vendor, upstream, ({ text }) =>
        text(307, 'text/plain', '', { location: `${upstream.url}/elsewhere` }),
      );
      await expect(all(run(made(vendor), request()))).rejects.toMatchObject({
        code: 'upstream_error',
        disposition: 'fail',
        upstreamStatus: 307,
      });
      expect(upstream.requests).toHaveLength(1);
    });

    it('gives up on the first token and on the next event in time', async () => {
      answerVendor(vendor, upstream, ({ hang }) => hang());
      const first = all(run(made(vendor, { firstTokenMs: 50 }), request()));
      await expect(first).rejects.toThrowError(/too long to send a first token/);
      answerVendor(vendor, upstream, async ({ stream, hang }) => {
        const out = stream();
        for (const event of events.slice(0, 4)) {
          if (/STOP|"stop"|message_delta/.test(event)) break;
          await out.raw(event);
        }
        await hang();
      });
      const idle = all(run(made(vendor, { idleMs: 50 }), request()));
      await expect(idle).rejects.toThrowError(/fell silent/);
      await expect(idle).rejects.toMatchObject({
        code: 'upstream_error',
        disposition: 'retry',
        fault: 'broken',
      });
      for (const each of upstream.requests) expect(await each.ended).toBe('aborted');
    });

    it('keeps its connections for the next calls', async () => {
      answerVendor(vendor, upstream, replay(recording));
      const provider = made(vendor);
      for (let at = 0; at < 8; at += 1) await all(run(provider, request()));
      expect(upstream.requests).toHaveLength(8);
      // A call that begins before the connection of the one before it is idle needs one of its own.
      expect(upstream.openSockets).toBeLessThan(4);
    });

    it('ends an answer that is too large', async () => {
      answerVendor(vendor, upstream, async ({ stream, signal }) => {
        const out = stream();
        await out.raw('data: "');
        while (!signal.aborted) await out.raw('x'.repeat(65_536));
      });
      await expect(all(run(made(vendor), request()))).rejects.toMatchObject({
        code: 'upstream_error',
        disposition: 'fail',
        publicMessage: expect.stringContaining('an event of more than'),
      });
    });
  });

  it('has finished once Anthropic said so, even when it never ends its stream', async () => {
    answerVendor(anthropic, upstream, async ({ stream, hang }) => {
      await stream().raw(recordedStream('anthropic-text'));
      await hang();
    });
    const chunks = await all(run(made(anthropic, { idleMs: 100 }), request()));
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'stop' });
    expect(await upstream.requests[0]?.ended).toBe('aborted');
  });

  it('slows a vendor down that is faster than its consumer, and holds little of the answer', {
    timeout: 20_000,
  }, async () => {
    const [begin = '', ...others] = recordedEvents('google-text');
    const events = 2400; // of 10 KB, more than the buffers of a connection hold
    let sent = 0;
    answerVendor(google, upstream, async ({ stream }) => {
      const out = stream();
      const event = begin.replace('Hello', 'x'.repeat(10_000));
      for (; sent < events; sent += 1) await out.raw(event);
      await out.raw(others.join(''));
      out.end();
    });
    let taken = 0;
    let mostAhead = 0;
    for await (const chunk of run(made(google), request())) {
      if (chunk.type !== 'text') continue;
      taken += 1;
      // Long enough for the upstream to send all that anybody takes.
      if (taken % 200 === 0) for (let turn = 0; turn < 50; turn += 1) await setImmediate();
      mostAhead = Math.max(mostAhead, sent - taken);
    }
    expect(taken).toBe(events + 1);
    expect(mostAhead).toBeLessThan(events / 2);
  });

  it('gives up on a body of an error that never ends', async () => {
    answerVendor(anthropic, upstream, ({ text }) =>
      text(429, 'application/json', '{', { 'content-length': '1000', 'retry-after': '3' }),
    );
    await expect(all(run(made(anthropic), request()))).rejects.toMatchObject({
      code: 'server_is_overloaded',
      retryAfterMs: 3000,
    });
  });

  it('says that nobody could be reached', async () => {
    const baseURL = `http://127.0.0.1:${await freePort()}/v1`;
    const settings = { ...vendorSettings(anthropic, upstream), options: { baseURL, apiKey: 'k1' } };
    const provider = createProvider(settings, timeouts);
    providers.push(provider);
    const failing = all(run(provider, request()));
    await expect(failing).rejects.toMatchObject({ disposition: 'retry', fault: 'unreachable' });
    await expect(failing).rejects.not.toThrowError(/127\.0\.0\.1/);
  });

  it.each([
    ['anthropic', 'prompt is too long: 208310 tokens > 200000 maximum', 'invalid_request_error'],
    [
      'google',
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      'INVALID_ARGUMENT',
    ],
    [
      'mistral',
      'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      'invalid_request_prompt',
    ],
  ])('knows when the input is too long for %s', async (name, message, type) => {
    const vendor = vendorNamed(name);
    answerVendor(vendor, upstream, ({ json }) => json(400, vendor.errorBody(message, type)));
    await expect(all(run(made(vendor), request()))).rejects.toMatchObject({
      code: 'context_length_exceeded',
      disposition: 'fail',
    });
  });

  it("reads in Google's body when to come back, and that the key is wrong", async () => {
    answerVendor(google, upstream, ({ json }) =>
      json(429, {
        error: {
          code: 429,
          message: 'quota',
          status: 'RESOURCE_EXHAUSTED',
          details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' }],
        },
      }),
    );
    await expect(all(run(made(google), request()))).rejects.toMatchObject({ retryAfterMs: 34_500 });
    answerVendor(google, upstream, ({ json }) =>
      json(400, {
        error: {
          code: 400,
          message: 'API key not valid.',
          status: 'INVALID_ARGUMENT',
          details: [{ reason: 'API_KEY_INVALID' }],
        },
      }),
    );
    await expect(all(run(made(google), request()))).rejects.toMatchObject({
      code: 'upstream_error',
      disposition: 'fail',
    });
  });
});
