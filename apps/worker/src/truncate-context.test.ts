import { type ContextItem, estimateInputTokens } from '@sluice/contract';
import { costAgainstParsing } from '@sluice/testing';
import { expect, test } from 'vitest';
import { truncateContext } from './truncate-context.ts';

type Role = 'user' | 'system' | 'developer';

/** A message of some ten tokens. */
const said = (content: string, role: Role = 'user'): ContextItem => ({
  type: 'message',
  role,
  content: content.padEnd(24),
});
const call = (call_id: string): ContextItem => ({
  type: 'function_call',
  call_id,
  name: 'look',
  arguments: '{"a":"b","c":"d","e":1}',
});
const output = (call_id: string): ContextItem => ({
  type: 'function_call_output',
  call_id,
  output: 'what was found in it, all',
});

test('leaves a context as it is that fits', () => {
  const input = [said('a'), said('b')];
  expect(truncateContext({ input }, 20)).toBe(input);
});

test('drops the oldest items first, and keeps the order of the others', () => {
  const input = [said('a'), said('b'), said('c'), said('d')];
  expect(truncateContext({ input }, 39)).toEqual(input.slice(1));
  expect(truncateContext({ input }, 20)).toEqual(input.slice(2));
});

test('counts instructions and tools, which stay', () => {
  const input = [said('a'), said('b'), said('c')];
  const tools = [{ type: 'function' as const, name: 'f' }];
  expect(truncateContext({ input, instructions: 'x'.repeat(40) }, 30)).toEqual(input.slice(1));
  expect(truncateContext({ input, tools }, 30)).toEqual(input.slice(1));
});

test('keeps what the system and the developer say', () => {
  const input = [said('s', 'system'), said('a'), said('d', 'developer'), said('b'), said('c')];
  expect(truncateContext({ input }, 30)).toEqual([input[0], input[2], input[4]]);
});

test('never splits a call from its output', () => {
  const input = [said('a'), call('c1'), call('c2'), output('c1'), said('b'), output('c2'), said('c')];
  for (let most = 12; most < 100; most += 1) {
    const kept = truncateContext({ input }, most);
    for (const id of ['c1', 'c2']) {
      const about = kept.filter((item) => 'call_id' in item && item.call_id === id);
      expect([0, 2]).toContain(about.length);
    }
    expect(kept.at(-1)).toBe(input.at(-1));
  }
});

test('keeps the call whose output is the last item', () => {
  const input = [call('c1'), said('a'), said('b'), output('c1')];
  expect(truncateContext({ input }, 30)).toEqual([input[0], input[3]]);
});

test('refuses what cannot be made to fit', () => {
  const tooLong = expect.objectContaining({
    code: 'context_length_exceeded',
    param: 'input',
    disposition: 'fail',
  });
  expect(() => truncateContext({ input: [said('a'), said('b')] }, 9)).toThrow(tooLong);
  expect(() => truncateContext({ input: [said('s', 'system'), said('a')] }, 15)).toThrow(tooLong);
  expect(() => truncateContext({ input: [said('a')], instructions: 'x'.repeat(400) }, 100)).toThrow(tooLong);
});

test('takes no longer for many calls than for many messages', () => {
  const input = Array.from({ length: 100_000 }, (_, at) => [call(`c${at}`), output(`c${at}`)]).flat();
  expect(truncateContext({ input: [...input, said('a')] }, 100).length).toBeLessThan(20);
});

test('looks at each output once of a call that has to stay', () => {
  const outputs = Array.from({ length: 100_000 }, () => output('c'));
  const input = [call('c'), ...outputs, said('a'), output('c')];
  // Everything but the message stays: the last output is of the same call.
  const most = estimateInputTokens({ input }) - 1;
  expect(truncateContext({ input }, most)).toEqual(input.toSpliced(-2, 1));
  expect(costAgainstParsing(input, () => () => void truncateContext({ input }, most))).toBeLessThan(50);
});

test('takes a call of a turn with its own outputs, when each turn counts its calls anew', () => {
  const input = [said('a'), call('c0'), output('c0'), said('b'), call('c0'), output('c0')];
  expect(truncateContext({ input }, 45)).toEqual(input.slice(3));
});
