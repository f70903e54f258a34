import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProvider, type Provider, type ProviderChunk } from '../src/index.ts';
import { isInstalled } from '../src/llama-cpp/missing-on-this-machine.ts';
import { writeTinyGguf } from './tiny-gguf.ts';
import { all, request, run, timeouts } from './upstream-wires.ts';

const schema = {
  type: 'object',
  properties: { kind: { enum: ['a', 'b'] }, next: { anyOf: [{ type: 'null' }, { type: 'boolean' }] } },
};
const tools = [
  { type: 'function', name: 'look', parameters: schema },
  { type: 'function', name: 'wait' },
];

/*
 * The package is not a dependency: it brings 700 MB. `npm install --no-save node-llama-cpp` brings it to a clone, and
 * these tests then run.
 */
describe.skipIf(!isInstalled())('a model in llama.cpp, which needs the package node-llama-cpp', () => {
  let directory: string;
  let provider: Provider;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-gguf-'));
    const modelPath = join(directory, 'tiny.gguf');
    writeTinyGguf(modelPath);
    provider = createProvider({ type: 'llama-cpp', id: 'here', modelPath, gpu: 'off', threads: 1 }, timeouts);
    expect(await provider.prepare?.()).toBeUndefined();
  });
  afterAll(async () => {
    await provider.close();
    await rm(directory, { recursive: true });
  });

  const ask = (members: object) =>
    all(run(provider, request({ input: 'Hello', temperature: 0, max_output_tokens: 64, ...members })));
  const textOf = (chunks: ProviderChunk[]) =>
    chunks.map((chunk) => (chunk.type === 'text' ? chunk.delta : '')).join('');
  const argumentsOf = (chunks: ProviderChunk[]) =>
    chunks.map((chunk) => (chunk.type === 'function_arguments' ? chunk.delta : '')).join('');

  it('writes the same text each time at temperature 0, and counts its tokens', async () => {
    const first = await ask({});
    expect(textOf(first)).not.toBe('');
    expect(await ask({})).toEqual(first);
    const usage = first.find((chunk) => chunk.type === 'usage')?.usage;
    expect(usage?.input_tokens).toBeGreaterThan(5);
    expect(usage?.output_tokens).toBeGreaterThan(1);
    expect(usage?.output_tokens).toBeLessThanOrEqual(64);
  });

  it('is cut after max_output_tokens', async () => {
    const chunks = await ask({ max_output_tokens: 16 });
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'max_output_tokens' });
    expect(chunks.find((chunk) => chunk.type === 'usage')?.usage.output_tokens).toBe(16);
  });

  it('is held to a schema', async () => {
    const chunks = await ask({ text: { format: { type: 'json_schema', name: 'n', strict: true, schema } } });
    expect(JSON.parse(textOf(chunks))).toEqual({
      kind: expect.stringMatching(/^[ab]$/),
      next: expect.toBeOneOf([null, true, false]),
    });
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'stop' });
  });

  it('calls the function that it has to call', async () => {
    const chunks = await ask({ tools, tool_choice: { type: 'function', name: 'look' } });
    expect(chunks[0]).toMatchObject({ type: 'function_call', name: 'look' });
    expect(JSON.parse(argumentsOf(chunks))).toMatchObject({ kind: expect.stringMatching(/^[ab]$/) });
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'function_call' });
  });

  it('takes functions that it may call, and their outputs', async () => {
    const input = [
      { role: 'user', content: 'Look.' },
      { type: 'function_call', call_id: 'c', name: 'wait', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'done' },
    ];
    expect((await ask({ input, tools, max_output_tokens: 16 })).at(-1)).toMatchObject({ type: 'finish' });
  });

  it('refuses a prompt that is longer than its context, and a schema without a grammar', async () => {
    await expect(ask({ input: 'word '.repeat(400) })).rejects.toMatchObject({
      code: 'context_length_exceeded',
    });
    const itself = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } };
    await expect(
      ask({ text: { format: { type: 'json_schema', name: 'n', schema: itself } } }),
    ).rejects.toMatchObject({ code: 'invalid_prompt', param: 'text.format' });
  });

  it('stops within a token when it is aborted, and takes the next call', async () => {
    const abort = new AbortController();
    const stream = run(provider, request({ input: 'Hello', max_output_tokens: 900 }), abort.signal);
    await stream.next();
    abort.abort(new Error('cancelled'));
    await expect(stream.next()).rejects.toThrowError('cancelled');
    expect((await ask({ max_output_tokens: 16 })).at(-1)).toMatchObject({ type: 'finish' });
  });
});
