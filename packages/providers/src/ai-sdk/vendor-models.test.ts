import { usageOf } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { faultOfProvider, type ProviderSettings, type ProviderTimeouts } from '../index.ts';
import { all, request, run, timeouts } from '../../test/upstream-wires.ts';
import { aiSdk } from './ai-sdk.ts';
import { loadFactory } from './load-factory.ts';

const settings = (name: string, more: object = {}): ProviderSettings => ({
  type: 'ai-sdk',
  id: 'up',
  package: name,
  options: { apiKey: 'sk-hidden' },
  ...more,
});

/** A provider over a package whose factory makes this model. */
const providerOf = (model: object, more: Partial<ProviderTimeouts> = {}) =>
  aiSdk({ type: 'ai-sdk', id: 'up', package: 'some-vendor' }, { ...timeouts, ...more }, async () => ({
    createVendor: () => ({ languageModel: () => model }),
  }));

const modelOf = (specificationVersion: string, ...parts: unknown[]) => ({
  specificationVersion,
  doStream: async () => ({ stream: ReadableStream.from(parts) }),
});

describe('a package', () => {
  it.each(['@ai-sdk/anthropic', '@ai-sdk/google', '@ai-sdk/mistral'])('%s can be used', async (name) => {
    expect(await faultOfProvider(settings(name))).toBeUndefined();
  });

  it('that is not installed is named with the command that installs it', async () => {
    expect(await faultOfProvider(settings('@ai-sdk/amazon-bedrock'))).toBe(
      "The package '@ai-sdk/amazon-bedrock' is not installed. Install it where Sluice is installed: npm install @ai-sdk/amazon-bedrock",
    );
    const provider = aiSdk({ type: 'ai-sdk', id: 'up', package: '@ai-sdk/amazon-bedrock' }, timeouts);
    expect(await provider.prepare?.()).toMatch(/^Provider 'up': .*npm install @ai-sdk\/amazon-bedrock$/);
    expect(await providerOf(modelOf('v4')).prepare?.()).toBeUndefined();
    await expect(all(run(provider, request()))).rejects.toMatchObject({
      code: 'upstream_error',
      disposition: 'fail',
      fault: undefined,
      message: expect.stringContaining('npm install @ai-sdk/amazon-bedrock'),
    });
  });

  it('that lacks what it needs itself cannot be loaded', async () => {
    const missing = Object.assign(new Error("Cannot find package 'zod' imported from 'x'"), {
      code: 'ERR_MODULE_NOT_FOUND',
    });
    const loading = loadFactory({ package: 'some-vendor' }, () => Promise.reject(missing));
    await expect(loading).rejects.toThrowError(
      "The package 'some-vendor' cannot be loaded: Cannot find package 'zod'",
    );
  });

  it('without the named factory, or without one to be found, says what to set', async () => {
    expect(await faultOfProvider(settings('@ai-sdk/anthropic', { factory: 'createClaude' }))).toContain(
      '`factory`',
    );
    expect(await faultOfProvider(settings('ajv'))).toContain("no function that begins with 'create'");
    const several = { createOne: () => 1, createTwo: () => 2 };
    await expect(loadFactory({ package: 'p' }, async () => several)).rejects.toThrowError(
      /createOne, createTwo/,
    );
    const first = await loadFactory({ package: 'p', factory: 'createTwo' }, async () => several);
    expect(first({})).toBe(2);
  });

  it('that refuses its options is not quoted', async () => {
    const both = settings('@ai-sdk/anthropic', {
      options: { apiKey: 'sk-hidden', authToken: 'sk-hidden-too' },
    });
    const fault = await faultOfProvider(both);
    expect(fault).toContain('`options`');
    expect(fault).not.toContain('sk-');
  });

  it.each([
    [modelOf('v1'), /speaks version v1 .* one of v4, v3, v2/],
    [{ specificationVersion: 'v4' }, /no language model/],
  ])('whose models speak something else is refused', async (model, message) => {
    await expect(all(run(providerOf(model), request()))).rejects.toThrowError(message);
  });

  it('that has no key says so to the operator alone', async () => {
    const keyless = Object.assign(new Error('The API key is missing.'), { name: 'AI_LoadAPIKeyError' });
    const provider = providerOf({ specificationVersion: 'v4', doStream: () => Promise.reject(keyless) });
    await expect(all(run(provider, request()))).rejects.toMatchObject({
      disposition: 'fail',
      fault: undefined,
      cause: expect.objectContaining({ message: 'AI_LoadAPIKeyError: The API key is missing.' }),
    });
  });
});

describe('earlier versions of the specification', () => {
  it('tell usage and finish in their own shapes', async () => {
    const provider = providerOf(
      modelOf(
        'v2',
        { type: 'stream-start', warnings: [] },
        { type: 'text-delta', id: '1', delta: 'Hi' },
        {
          type: 'finish',
          finishReason: 'stop',
          usage: {
            inputTokens: 5,
            outputTokens: 2,
            totalTokens: 7,
            cachedInputTokens: 1,
            reasoningTokens: 1,
          },
        },
      ),
    );
    expect(await all(run(provider, request()))).toEqual([
      { type: 'text', delta: 'Hi' },
      { type: 'usage', usage: usageOf(5, 2, { cached: 1, reasoning: 1 }) },
      { type: 'finish', reason: 'stop' },
    ]);
  });

  const wrote = { anthropic: { cacheCreationInputTokens: 30, usage: {} } };
  const counts = { inputTokens: 5, outputTokens: 2, cachedInputTokens: 1000 };

  it.each<[string, object, object, number[]]>([
    ['Anthropic', counts, wrote, [1035, 1000, 30]],
    ['Bedrock', counts, { bedrock: { usage: { cacheWriteInputTokens: 30 } } }, [1035, 1000, 30]],
    ['Anthropic, without a cache', { inputTokens: 5, outputTokens: 2 }, { anthropic: {} }, [5, 0, 0]],
    ['a vendor that counts it in', { ...counts, inputTokens: 1200 }, {}, [1200, 1000, 0]],
    ['a vendor unknown to count it beside', counts, { acme: {} }, [1000, 1000, 0]],
    [
      'Anthropic in a later version',
      { inputTokens: { total: 1035, cacheRead: 1000, cacheWrite: 30 }, outputTokens: { total: 2 } },
      wrote,
      [1035, 1000, 30],
    ],
  ])('count input with what a cache had or took: %s', async (_vendor, usage, providerMetadata, expected) => {
    const finish = { type: 'finish', finishReason: 'stop', usage, providerMetadata };
    const [counted] = await all(run(providerOf(modelOf('v2', finish)), request()));
    const [input_tokens = 0, cached_tokens, cache_write_tokens] = expected;
    expect(counted).toMatchObject({
      usage: {
        input_tokens,
        input_tokens_details: { cached_tokens, cache_write_tokens },
        total_tokens: input_tokens + 2,
      },
    });
  });
});

describe('a package that does as it likes', () => {
  const finish = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' } };

  it('is left when it does not heed an abort', async () => {
    const abort = new AbortController();
    const deaf = { specificationVersion: 'v4', doStream: () => new Promise(() => undefined) };
    const next = run(providerOf(deaf), request(), abort.signal).next();
    abort.abort(new Error('cancelled'));
    await expect(next).rejects.toThrowError('cancelled');
  });

  it('has its first token in time, whatever connections it uses', async () => {
    const silent = { specificationVersion: 'v4', doStream: () => new Promise(() => undefined) };
    const provider = providerOf(silent, { connectMs: 10, firstTokenMs: 20 });
    await expect(all(run(provider, request()))).rejects.toThrowError(/too long to send a first token/);
  });

  it('cannot keep a call alive with pings', async () => {
    const pinging = {
      specificationVersion: 'v4',
      doStream: async () => ({
        stream: new ReadableStream({
          start: (controller) => controller.enqueue({ type: 'text-delta', id: '1', delta: 'Hi' }),
          pull: async (controller) => {
            await new Promise((resolve) => setImmediate(resolve));
            controller.enqueue({ type: 'ping' });
          },
        }),
      }),
    };
    // A vendor that is a function itself.
    const provider = aiSdk(
      { type: 'ai-sdk', id: 'up', package: 'p' },
      { ...timeouts, idleMs: 50 },
      async () => ({ createVendor: () => () => pinging }),
    );
    await expect(all(run(provider, request()))).rejects.toThrowError(/fell silent/);
  });

  it('closes no circuit breaker with a prompt that it cannot convert', async () => {
    const throwing = (thrown: Error) =>
      all(run(providerOf({ specificationVersion: 'v4', doStream: () => Promise.reject(thrown) }), request()));
    await expect(throwing(new TypeError('secret words'))).rejects.toMatchObject({
      code: 'upstream_error',
      disposition: 'fail',
      fault: undefined,
      message: expect.not.stringContaining('secret'),
    });
    const unsupported = Object.assign(new Error('x'), { name: 'AI_UnsupportedFunctionalityError' });
    await expect(throwing(unsupported)).rejects.toMatchObject({
      code: 'invalid_prompt',
      disposition: 'fail',
    });
  });

  it('makes an answer of parts that are malformed into a failure', async () => {
    for (const part of [null, 'text', { type: 'text-delta', delta: 5 }, { type: 'tool-call' }]) {
      const provider = providerOf(modelOf('v4', part, finish));
      await expect(all(run(provider, request()))).rejects.toMatchObject({
        code: 'upstream_error',
        fault: 'broken',
      });
    }
    await expect(all(run(providerOf(modelOf('v4')), request()))).rejects.toThrowError(/without finishing/);
    const unknown = { ...finish, finishReason: { unified: 'other', raw: 'SPECIAL' } };
    await expect(all(run(providerOf(modelOf('v4', unknown)), request()))).rejects.toThrowError(/no finish/);
  });

  it('has its calls passed on once, however it tells them', async () => {
    const tools = ['a', 'b', 'c', 'd'].map((name) => ({ type: 'function', name }));
    const long = 'x'.repeat(65);
    const provider = providerOf(
      modelOf(
        'v4',
        { type: 'tool-call', toolCallId: '1', toolName: 'a', input: '{"n":1}' },
        { type: 'tool-input-start', id: long, toolName: 'b' },
        { type: 'tool-input-delta', id: long, delta: '{"n"' },
        { type: 'tool-input-delta', id: long, delta: ':2}' },
        { type: 'tool-input-end', id: long },
        { type: 'tool-call', toolCallId: long, toolName: 'b', input: '{"n":2}' },
        { type: 'tool-input-start', id: '3', toolName: 'c', inputEncoding: 'text' },
        { type: 'tool-input-delta', id: '3', delta: 'plain' },
        { type: 'tool-call', toolCallId: '3', toolName: 'c', input: '"plain"' },
        { type: 'tool-input-start', id: '4', toolName: 'd', providerExecuted: true },
        { type: 'tool-call', toolCallId: '4', toolName: 'd', input: '{}', providerExecuted: true },
        { type: 'tool-call', toolCallId: '1', toolName: 'd', input: '' },
        { ...finish, finishReason: { unified: 'tool-calls', raw: 'x' } },
      ),
    );
    expect(await all(run(provider, request({ tools })))).toEqual([
      { type: 'function_call', callKey: '0', callId: '1', name: 'a' },
      { type: 'function_arguments', callKey: '0', delta: '{"n":1}' },
      { type: 'function_call', callKey: '1', name: 'b' },
      { type: 'function_arguments', callKey: '1', delta: '{"n"' },
      { type: 'function_arguments', callKey: '1', delta: ':2}' },
      { type: 'function_call', callKey: '3', callId: '3', name: 'c' },
      { type: 'function_arguments', callKey: '3', delta: '"plain"' },
      { type: 'function_call', callKey: '5', name: 'd' },
      { type: 'function_arguments', callKey: '5', delta: '{}' },
      { type: 'finish', reason: 'function_call' },
    ]);
  });

  it('has its sources passed on as citations of the text', async () => {
    const source = {
      type: 'source',
      sourceType: 'url',
      id: 's',
      url: 'https://example.com/',
      title: 'Example',
    };
    const provider = providerOf(
      modelOf(
        'v4',
        source,
        { type: 'text-delta', id: '1', delta: 'Hello' },
        { ...source, title: undefined },
        finish,
      ),
    );
    const citation = (title: string) => ({
      type: 'annotation',
      annotation: { type: 'url_citation', start_index: 0, end_index: 5, url: 'https://example.com/', title },
    });
    expect(await all(run(provider, request()))).toEqual([
      { type: 'text', delta: 'Hello' },
      citation('Example'),
      citation(''),
      { type: 'finish', reason: 'stop' },
    ]);
  });

  it('has calls of functions that stand for custom tools turned back', async () => {
    const provider = providerOf(
      modelOf(
        'v4',
        { type: 'tool-call', toolCallId: '1', toolName: 'patch', input: '{"input":"*** Begin"}' },
        { ...finish, finishReason: { unified: 'tool-calls', raw: 'x' } },
      ),
    );
    const generation = request({ tools: [{ type: 'custom', name: 'patch' }] });
    expect(await all(run(provider, generation))).toEqual([
      { type: 'custom_tool_call', callKey: '0', callId: '1', name: 'patch' },
      { type: 'custom_tool_input', callKey: '0', delta: '*** Begin' },
      { type: 'finish', reason: 'function_call' },
    ]);
  });

  it('may go on after a finish', async () => {
    const more = { type: 'text-delta', id: '1', delta: 'more' };
    const provider = providerOf(modelOf('v4', finish, more, finish));
    expect((await all(run(provider, request()))).map((chunk) => chunk.type)).toEqual(['text', 'finish']);
    await expect(all(run(providerOf(modelOf('v4', finish, more)), request()))).rejects.toThrowError(
      /without finishing/,
    );
  });
});
