import { describe, expect, it } from 'vitest';
import type { ProviderChunk } from '../provider.ts';
import { ChatReader } from './chat-reader.ts';
import { withCustomInputs } from './custom-tools.ts';

const tools = [
  { type: 'custom' as const, name: 'shell' },
  { type: 'function' as const, name: 'f' },
];

/** Reads calls with these arguments, each in pieces. */
function read(calls: [name: string, ...pieces: string[]][], finish = 'tool_calls'): ProviderChunk[] {
  const reader = withCustomInputs(new ChatReader('up', false), tools);
  const feed = (delta: object, reason: string | null = null) =>
    reader.read({
      name: undefined,
      data: JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] }),
    });
  const chunks = calls.flatMap(([name, ...pieces], index) => [
    ...feed({ tool_calls: [{ index, id: `c${index}`, function: { name } }] }),
    ...pieces.flatMap((piece) => feed({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ]);
  return [...chunks, ...feed({}, finish), ...reader.end()];
}

const inputOf = (...pieces: string[]) =>
  read([['shell', ...pieces]]).flatMap((chunk) => (chunk.type === 'custom_tool_input' ? [chunk.delta] : []));

describe('calls of functions that stand for custom tools', () => {
  it('become calls of these, beside those of functions', () => {
    expect(
      read([
        ['shell', '{"inp', 'ut":"ls \\"a\\"\\n"}'],
        ['f', '{"a":', '1}'],
      ]),
    ).toEqual([
      { type: 'custom_tool_call', callKey: '0', callId: 'c0', name: 'shell' },
      { type: 'function_call', callKey: '1', callId: 'c1', name: 'f' },
      { type: 'function_arguments', callKey: '1', delta: '{"a":' },
      { type: 'function_arguments', callKey: '1', delta: '1}' },
      { type: 'custom_tool_input', callKey: '0', delta: 'ls "a"\n' },
      { type: 'finish', reason: 'function_call' },
    ]);
  });

  it.each([
    ['an empty input', '', ['{"input":""}']],
    ['a text that is no JSON', 'ls -l', ['ls ', '-l']],
    ['other arguments', '{"command":"ls"}', ['{"command":"ls"}']],
    ['an input that is no text', '{"input":5}', ['{"input":5}']],
    ['an input that was cut off', 'ls -', ['{"input":"ls -']],
    ['no arguments', '{}', []],
  ])('take %s for %j', (_, input, pieces) => {
    expect(inputOf(...pieces)).toEqual([input]);
  });
});
