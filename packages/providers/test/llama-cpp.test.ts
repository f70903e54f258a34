import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createProvider,
  type LlamaCppSettings,
  missingOnThisMachine,
  type Provider,
  type ProviderChunk,
} from '../src/index.ts';
import { ModelProcess } from '../src/llama-cpp/model-process.ts';
import { llamaRequest } from '../src/llama-cpp/llama-request.ts';
import { fakeLlamaCpp } from './fake-llama-settings.ts';
import { all, request, run, timeouts, tools } from './upstream-wires.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

interface Line {
  message: string;
  facts: Record<string, unknown>;
}

function open(settings: Partial<LlamaCppSettings> = {}): { provider: Provider; lines: Line[] } {
  const lines: Line[] = [];
  const note = (facts: object, message: string) => void lines.push({ message, facts: { ...facts } });
  const provider = createProvider(fakeLlamaCpp(settings), timeouts, { info: note, error: note });
  cleanups.push(() => provider.close());
  return { provider, lines };
}

const ask = (provider: Provider, members: object = {}) => all(run(provider, request(members)));
const textOf = (chunks: ProviderChunk[]) =>
  chunks.map((chunk) => (chunk.type === 'text' ? chunk.delta : '')).join('');

describe('the process of a model', () => {
  it('loads the model once, and says how long that took', async () => {
    const { provider, lines } = open();
    await Promise.all([ask(provider), ask(provider)]);
    expect(lines).toEqual([
      {
        message: 'model loaded',
        facts: expect.objectContaining({
          provider: 'here',
          loadMs: expect.any(Number),
          // As many as the model was trained with.
          contextTokens: 2048,
          gpu: 'off',
        }),
      },
    ]);
  });

  it('fails what ran in it when it dies, and is started again for the next call', async () => {
    const { provider, lines } = open({ parallel: 2 });
    const beside = run(provider, request({ input: 'hang after one' }));
    await beside.next();
    const broken = { code: 'upstream_error', disposition: 'retry', fault: 'broken' };
    const rest = beside.next();
    await Promise.all([
      expect(rest).rejects.toMatchObject(broken),
      expect(ask(provider, { input: 'die' })).rejects.toMatchObject(broken),
    ]);
    expect(textOf(await ask(provider))).toBe('Hello there');
    expect(lines.map(({ message }) => message)).toEqual([
      'model loaded',
      'process of a model died',
      'model loaded',
    ]);
  });

  it('is tried again after a model that could not be loaded', async () => {
    const { provider, lines } = open({ modelPath: 'broken.gguf' });
    const refused = { code: 'upstream_error', disposition: 'retry', fault: 'refused' };
    await expect(ask(provider)).rejects.toMatchObject(refused);
    await expect(ask(provider)).rejects.toMatchObject(refused);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toEqual({
      message: 'model not loaded',
      facts: expect.objectContaining({ reason: 'failed to load model' }),
    });
  });

  it('is killed when it does not let go of an aborted run, so that the next call gets the place', async () => {
    const { library = '' } = fakeLlamaCpp();
    const load = {
      library,
      modelPath: 'm',
      contextTokens: 512,
      threads: 1,
      parallel: 1,
      gpu: 'off',
    } as const;
    const model = new ModelProcess({ providerId: 'here', load, log: undefined, abortWithinMs: 1 });
    cleanups.push(() => model.close());
    const start = (input: string, signal: AbortSignal, onOver: () => void = () => undefined) =>
      model.run(llamaRequest(request({ input }), { providerId: 'here', contextTokens: 512 }), signal, onOver);
    const abort = new AbortController();
    const over = Promise.withResolvers<void>();
    await model.load();
    const next = start('deaf', abort.signal, over.resolve).next();
    abort.abort(new Error('cancelled'));
    await expect(next).rejects.toThrowError('cancelled');
    await over.promise;
    expect(textOf(await all(start('Hello', new AbortController().signal)))).toBe('Hello there');
  });

  it('serves who waits in line in order, with as many at once as there are contexts', async () => {
    const { provider } = open({ parallel: 2 });
    const aborts = [new AbortController(), new AbortController()];
    const busy = aborts.map(({ signal }) => run(provider, request({ input: 'hang after one' }), signal));
    for (const each of busy) await each.next();
    const served: string[] = [];
    const waiting = ['first', 'second'].map(async (name) => {
      await ask(provider);
      served.push(name);
    });
    expect(served).toEqual([]);
    const ended = busy[0]?.next();
    aborts[0]?.abort(new Error('cancelled'));
    await expect(ended).rejects.toThrowError('cancelled');
    await Promise.all(waiting);
    expect(served).toEqual(['first', 'second']);
    await busy[1]?.return(undefined);
  });

  it('ends with its provider', async () => {
    const { provider } = open();
    await ask(provider);
    await provider.close();
    await expect(ask(provider)).rejects.toThrow();
  });
});

describe('an answer of a model in a process', () => {
  it('counts the tokens of the prompt and of the answer', async () => {
    const { provider } = open();
    const chunks = await ask(provider, { input: 'one two three' });
    expect(chunks.find((chunk) => chunk.type === 'usage')?.usage).toMatchObject({
      input_tokens: 3,
      output_tokens: 2,
      total_tokens: 5,
    });
  });

  it('has thoughts as reasoning', async () => {
    const { provider } = open();
    const chunks = await ask(provider, { input: 'think' });
    expect(chunks[0]).toEqual({ type: 'reasoning_text', delta: 'Hm.' });
    expect(chunks.find((chunk) => chunk.type === 'usage')?.usage).toMatchObject({
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 1 },
    });
  });

  it('is cut where the context ends', async () => {
    const { provider } = open({ contextTokens: 64 });
    const chunks = await ask(provider, { input: 'chatter' });
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'max_output_tokens' });
    expect(chunks.filter((chunk) => chunk.type === 'text')).toHaveLength(64 - 4 - 1);
  });

  it('is held to a format', async () => {
    const { provider } = open();
    const schema = { type: 'object', properties: { a: { enum: ['b'] } } };
    const chunks = await ask(provider, { text: { format: { type: 'json_schema', name: 'n', schema } } });
    expect(textOf(chunks)).toBe('{"a":"b"}');
  });

  it('is a call when it has to be one', async () => {
    const { provider } = open();
    const chunks = await ask(provider, { tools, tool_choice: { type: 'function', name: 'second_tool' } });
    expect(chunks.filter((chunk) => chunk.type !== 'usage')).toEqual([
      { type: 'function_call', callKey: '0', name: 'second_tool' },
      { type: 'function_arguments', callKey: '0', delta: '{}' },
      { type: 'finish', reason: 'function_call' },
    ]);
  });

  it('is a call of a custom tool, which the model knows as a function', async () => {
    const { provider } = open();
    const chunks = await ask(provider, { tools: [{ type: 'custom', name: 'note' }] });
    expect(chunks.filter((chunk) => chunk.type !== 'usage')).toEqual([
      { type: 'custom_tool_call', callKey: '0', name: 'note' },
      { type: 'custom_tool_input', callKey: '0', delta: '{}' },
      { type: 'finish', reason: 'function_call' },
    ]);
  });

  it.each([
    ['context_length_exceeded', { input: 'word '.repeat(100) }],
    ['invalid_prompt', { input: 'bad order' }],
    ['invalid_prompt', { tools: [{ type: 'function', name: 'f', parameters: { const: 'no grammar' } }] }],
    [
      'invalid_prompt',
      { text: { format: { type: 'json_schema', name: 'n', schema: { const: 'no grammar' } } } },
    ],
  ])('fails with %s, and with no words of the library', async (code, members) => {
    const { provider } = open({ contextTokens: 64 });
    const failing = ask(provider, members);
    await expect(failing).rejects.toMatchObject({ code, disposition: 'fail' });
    await expect(failing).rejects.not.toThrowError(/secret/);
    await expect(ask(provider)).resolves.toHaveLength(4);
  });
});

describe('what a machine lacks', () => {
  const settings = (modelPath: string) => fakeLlamaCpp({ modelPath });

  it('is a package, a file, or a file of the right kind', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-gguf-'));
    cleanups.push(() => rm(directory, { recursive: true }));
    const path = join(directory, 'a.gguf');
    const { library: _, ...real } = settings(path);
    expect(await missingOnThisMachine(real, 'no-such-package')).toContain(
      'run `npm install no-such-package`',
    );
    expect(await missingOnThisMachine(settings(path))).toContain(`${path}: there is no such file`);
    expect(await missingOnThisMachine(settings(directory))).toContain('it cannot be read');
    await writeFile(path, 'text');
    expect(await missingOnThisMachine(settings(path))).toContain('it is not a GGUF file');
    await writeFile(path, 'GGUF and more');
    expect(await missingOnThisMachine(settings(path))).toBeUndefined();
  });

  it('is found before a model is loaded, which is loaded without a call otherwise', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-gguf-'));
    cleanups.push(() => rm(directory, { recursive: true }));
    const modelPath = join(directory, 'a.gguf');
    const { provider, lines } = open({ modelPath });
    expect(await provider.prepare?.()).toContain('there is no such file');
    await writeFile(modelPath, 'GGUF');
    expect(await provider.prepare?.()).toBeUndefined();
    await eventually(() => lines.some(({ message }) => message === 'model loaded'));
  });
});
