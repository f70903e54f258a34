import type { Generation } from '@sluice/contract';
import { type FakeUpstream, startFakeUpstream, type UpstreamHandler } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Provider, ProviderChunk } from './provider.ts';
import { createProvider } from './registry.ts';
import { fakeLlamaCpp } from '../test/fake-llama-settings.ts';
import {
  answerVendor,
  recordedEvents,
  recordedStream,
  type SdkVendor,
  sdkVendors,
  vendorSettings,
} from '../test/sdk-vendors.ts';
import {
  all,
  sending,
  chat,
  request,
  responses,
  run,
  send,
  timeouts,
  tools,
  type Wire,
} from '../test/upstream-wires.ts';

/** The scenarios that every provider goes through, each in its own way. */
type Scenario = 'text' | 'parallel calls' | 'cut by length' | 'silence' | 'silence in the middle' | 'failure';

interface Stage {
  provider: Provider;
  /** Makes the model behave so, and returns the request for it. */
  prepare(scenario: Scenario): Generation;
  /** Resolves when the upstream has a request; at once where there is none. */
  called(): Promise<void>;
  /** Resolves when the upstream has seen the caller go; at once where there is none. */
  closed(): Promise<void>;
  stop(): Promise<void>;
}

async function simulatorStage(): Promise<Stage> {
  const provider = createProvider({ type: 'simulator', id: 'sim' }, timeouts);
  const requests: Record<Scenario, object> = {
    text: {},
    'parallel calls': { tools },
    'cut by length': { input: '[[sluice: tokens=100]]', max_output_tokens: 16 },
    silence: { input: '[[sluice: hang]]' },
    'silence in the middle': { input: '[[sluice: hang after=1]]' },
    failure: { input: '[[sluice: fail=upstream_error]]' },
  };
  return {
    provider,
    prepare: (scenario) => request(requests[scenario]),
    called: async () => {},
    closed: async () => {},
    stop: () => provider.close(),
  };
}

/** The stage of a provider that calls a fake upstream, which `answer` makes behave as a scenario says. */
function upstreamStage(
  upstream: FakeUpstream,
  provider: Provider,
  answer: (scenario: Scenario) => void,
): Stage {
  return {
    provider,
    prepare(scenario) {
      answer(scenario);
      return request({ tools });
    },
    called: async () => void (await upstream.request(0)),
    closed: async () => expect(await (await upstream.request(0)).ended).toBe('aborted'),
    async stop() {
      await provider.close();
      await upstream.close();
    },
  };
}

async function httpStage(wire: Wire): Promise<Stage> {
  const upstream = await startFakeUpstream();
  const provider = createProvider({ type: wire.type, id: 'up', baseUrl: upstream.baseUrl }, timeouts);
  const handlers: Record<Scenario, UpstreamHandler> = {
    text: sending([wire.text('Hello'), wire.text(' there'), ...wire.finish('stop')]),
    'parallel calls': sending(wire.calls),
    'cut by length': sending([wire.text('Hello'), ...wire.finish('length')]),
    silence: ({ hang }) => hang(),
    'silence in the middle': async ({ stream, hang }) => {
      await send(stream(), [wire.text('Hello')]);
      await hang();
    },
    failure: ({ json }) => json(500, { error: { message: 'secret words of the upstream' } }),
  };
  return upstreamStage(upstream, provider, (scenario) => wire.handle(upstream, handlers[scenario]));
}

async function llamaCppStage(): Promise<Stage> {
  const provider = createProvider(fakeLlamaCpp(), timeouts);
  const requests: Record<Scenario, object> = {
    text: {},
    'parallel calls': { tools },
    'cut by length': { input: 'chatter', max_output_tokens: 16 },
    silence: { input: 'hang' },
    'silence in the middle': { input: 'hang after one' },
    failure: { input: 'fail' },
  };
  return {
    provider,
    prepare: (scenario) => request(requests[scenario]),
    called: async () => {},
    // There is one place, so another call gets it once the model has let go.
    closed: async () =>
      expect((await all(run(provider, request()))).at(-1)).toMatchObject({ type: 'finish' }),
    stop: () => provider.close(),
  };
}

/** Replays recorded streams of a vendor through its package, with the tools of these tests. */
async function vendorStage(vendor: SdkVendor): Promise<Stage> {
  const upstream = await startFakeUpstream();
  const provider = createProvider(vendorSettings(vendor, upstream), timeouts);
  const replay =
    (recording: string): UpstreamHandler =>
    async ({ stream }) => {
      const out = stream();
      await out.raw(withTestTools(recordedStream(recording)));
      out.end();
    };
  const handlers: Record<Scenario, UpstreamHandler> = {
    text: replay(`${vendor.name}-text`),
    'parallel calls': replay(`${vendor.name}-reasoning-and-parallel-calls`),
    'cut by length': replay(`${vendor.name}-max-tokens`),
    silence: ({ hang }) => hang(),
    'silence in the middle': async ({ stream, hang }) => {
      const events = recordedEvents(`${vendor.name}-text`);
      const upToText = events.slice(0, events.findIndex((event) => event.includes('Hello')) + 1);
      await stream().raw(upToText.join(''));
      await hang();
    },
    failure: ({ json }) => json(500, vendor.errorBody('secret words of the upstream', 'api_error')),
  };
  return upstreamStage(upstream, provider, (scenario) => answerVendor(vendor, upstream, handlers[scenario]));
}

/** The recorded tools under the names of these tests, without arguments. */
function withTestTools(recorded: string): string {
  return recorded
    .replaceAll('get_weather', 'first_tool')
    .replaceAll('get_time', 'second_tool')
    .replaceAll(/\\?"city\\?": ?/g, '')
    .replaceAll(/ ?\\?"Oslo\\?"/g, '');
}

type NamedStage = [name: string, open: () => Promise<Stage>];
const stages: NamedStage[] = [
  ['simulator', simulatorStage],
  ['llama-cpp', llamaCppStage],
  ['openai-chat', () => httpStage(chat)],
  ['openai-responses', () => httpStage(responses)],
  ...sdkVendors.map((vendor): NamedStage => [`ai-sdk (${vendor.name})`, () => vendorStage(vendor)]),
];

describe.each(stages)('the provider %s', (_, open) => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await open();
  });
  afterEach(() => stage.stop());

  it('yields text, then usage, then why it stopped', async () => {
    const chunks = await all(run(stage.provider, stage.prepare('text')));
    const types = chunks.map((chunk) => chunk.type);
    expect(types.slice(-2)).toEqual(['usage', 'finish']);
    expect(new Set(types.slice(0, -2))).toEqual(new Set(['text']));
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'stop' });
    const counted = chunks.find((chunk) => chunk.type === 'usage')?.usage;
    expect(counted?.total_tokens).toBe((counted?.input_tokens ?? 0) + (counted?.output_tokens ?? 0));
  });

  it('tells parallel calls apart', async () => {
    const chunks = await all(run(stage.provider, stage.prepare('parallel calls')));
    const opened = chunks.flatMap((chunk) => (chunk.type === 'function_call' ? [chunk] : []));
    expect(opened.map((chunk) => chunk.name)).toEqual(['first_tool', 'second_tool']);
    for (const { callKey } of opened) {
      const args = chunks.flatMap((chunk) =>
        chunk.type === 'function_arguments' && chunk.callKey === callKey ? [chunk.delta] : [],
      );
      expect(JSON.parse(args.join(''))).toEqual({});
    }
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'function_call' });
  });

  it('says that its length cut it', async () => {
    const chunks = await all(run(stage.provider, stage.prepare('cut by length')));
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'max_output_tokens' });
  });

  it('rejects with a ProviderError before the first chunk, without words of the upstream', async () => {
    const chunks: ProviderChunk[] = [];
    const failing = all(run(stage.provider, stage.prepare('failure')), chunks);
    await expect(failing).rejects.toMatchObject({ code: 'upstream_error', disposition: 'retry' });
    await expect(failing).rejects.not.toThrowError(/secret|127\.0\.0\.1/);
    expect(chunks).toEqual([]);
  });

  it('rejects with the reason of an abort that comes before the first chunk, and hangs up', async () => {
    const abort = new AbortController();
    const stream = run(stage.provider, stage.prepare('silence'), abort.signal);
    const next = stream.next();
    await stage.called();
    abort.abort(new Error('cancelled'));
    await expect(next).rejects.toThrowError('cancelled');
    await stage.closed();
  });

  it('rejects with the reason of an abort in the middle, and hangs up', async () => {
    const abort = new AbortController();
    const stream = run(stage.provider, stage.prepare('silence in the middle'), abort.signal);
    expect((await stream.next()).value).toMatchObject({ type: 'text' });
    const next = stream.next();
    abort.abort(new Error('cancelled'));
    await expect(next).rejects.toThrowError('cancelled');
    await stage.closed();
  });

  it('calls nobody when it was aborted before', async () => {
    const stream = run(stage.provider, stage.prepare('text'), AbortSignal.abort(new Error('cancelled')));
    await expect(all(stream)).rejects.toThrowError('cancelled');
  });

  it('hangs up when the consumer leaves the loop', async () => {
    for await (const chunk of run(stage.provider, stage.prepare('silence in the middle'))) {
      expect(chunk.type).toBe('text');
      break;
    }
    await stage.closed();
  });

  it('closes twice and without having run', async () => {
    await stage.provider.close();
    await expect(stage.provider.close()).resolves.toBeUndefined();
  });
});
