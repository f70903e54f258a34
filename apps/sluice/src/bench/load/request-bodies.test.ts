import { describe, expect, it } from 'vitest';
import { seededRandom } from './random.ts';
import { inTurn, inventedPrompts, ownMode, readBodies, writeBody } from './request-bodies.ts';

const noFlags = { model: undefined, maxOutputTokens: undefined, serviceTier: undefined };
const written = (...args: Parameters<typeof writeBody>): unknown => JSON.parse(writeBody(...args));

describe('request bodies', () => {
  it('are read from JSON Lines and from lines of a batch file', () => {
    const text = `{"input":"a"}\n\n{"custom_id":"1","method":"POST","url":"/v1/responses","body":{"input":"b"}}\r\n`;
    expect(readBodies(text)).toEqual([{ input: 'a' }, { input: 'b' }]);
  });

  it.each([
    ['{"input":"a"}\n{', '--input: line 2 is not JSON'],
    ['[]', '--input: line 1 is not a JSON object'],
    ['\n\n', '--input: the file has no request'],
  ])('are refused with the line: %j', (text, message) => {
    expect(() => readBodies(text)).toThrow(message);
  });

  it('come in turn, and from the first again', () => {
    const next = inTurn([{ input: 1 }, { input: 2 }]);
    expect([next(), next(), next()]).toEqual([{ input: 1 }, { input: 2 }, { input: 1 }]);
  });

  it('are invented with so many words, different each time, and the same for a seed', () => {
    const next = inventedPrompts(50, seededRandom(1, 'prompts'));
    const inputs = Array.from({ length: 20 }, () => String(next()['input']));
    expect(inputs.map((input) => input.split(' ').length)).toEqual(inputs.map(() => 50));
    expect(inputs.join(' ')).toMatch(/^[a-z ]+$/);
    expect(new Set(inputs.map((input) => input.slice(0, 40))).size).toBe(20);
    expect(inventedPrompts(50, seededRandom(1, 'prompts'))()).toEqual({ input: inputs[0] });
  });

  it('ask for their own mode', () => {
    expect(
      [{}, { stream: true }, { background: true }, { stream: true, background: true }].map(ownMode),
    ).toEqual(['whole', 'stream', 'background', 'background']);
  });

  it('are sent with the mode and what the flags set, and otherwise as they are', () => {
    const body = { model: 'own', input: 'x', stream: true, background: true, stream_options: {}, tools: [] };
    expect(written(body, 'whole', noFlags)).toEqual({ model: 'own', input: 'x', tools: [] });
    expect(written(body, 'stream', { ...noFlags, model: 'm' })).toEqual({
      ...{ model: 'm', input: 'x', tools: [], stream: true, stream_options: {} },
    });
    const flags = { model: 'm', maxOutputTokens: 5, serviceTier: 'flex' };
    expect(written({ input: 'x' }, 'background', flags)).toEqual({
      ...{ input: 'x', model: 'm', max_output_tokens: 5, service_tier: 'flex', background: true },
    });
  });
});
