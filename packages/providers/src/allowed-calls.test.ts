import type { Generation } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { AllowedCalls, callableTools } from './allowed-calls.ts';
import type { ProviderChunk } from './provider.ts';

type Rules = Pick<Generation, 'tools' | 'tool_choice' | 'parallel_tool_calls'>;

const tools = ['a', 'b', 'c'].map((name) => ({ type: 'function' as const, name }));
const call = (callKey: string, name: string): ProviderChunk[] => [
  { type: 'function_call', callKey, name },
  { type: 'function_arguments', callKey, delta: '{}' },
];
const finish: ProviderChunk = { type: 'finish', reason: 'function_call' };

function admitted(rules: Rules, chunks: ProviderChunk[]): ProviderChunk[] {
  const calls = new AllowedCalls(rules);
  return chunks.flatMap((chunk) => calls.admit(chunk) ?? []);
}

describe('callableTools', () => {
  const cases: [string, Rules, string[], string][] = [
    ['nothing without tools', { tool_choice: 'required' }, [], 'none'],
    [
      'the named custom tool',
      { tools: [...tools, { type: 'custom', name: 'c' }], tool_choice: { type: 'custom', name: 'c' } },
      ['c'],
      'required',
    ],
    ['every tool by default', { tools }, ['a', 'b', 'c'], 'auto'],
    ['nothing for none', { tools, tool_choice: 'none' }, [], 'none'],
    ['the named tool', { tools, tool_choice: { type: 'function', name: 'b' } }, ['b'], 'required'],
    [
      'the allowed set in its mode',
      {
        tools,
        tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'c' }] },
      },
      ['c'],
      'required',
    ],
    [
      'nothing for an allowed set in mode none',
      {
        tools,
        tool_choice: { type: 'allowed_tools', mode: 'none', tools: [{ type: 'function', name: 'c' }] },
      },
      [],
      'none',
    ],
  ];
  it.each(cases)('gives %s', (_, rules, names, demand) => {
    const callable = callableTools(rules);
    expect(callable.tools.map((tool) => tool.name)).toEqual(names);
    expect(callable.demand).toBe(demand);
  });
});

describe('AllowedCalls', () => {
  it('lets parallel calls of given tools through', () => {
    const chunks = [...call('0', 'a'), ...call('1', 'b'), finish];
    expect(admitted({ tools }, chunks)).toEqual(chunks);
  });

  it('suppresses a call of a tool that was not given, with its arguments', () => {
    expect(admitted({ tools }, [...call('0', 'stranger'), ...call('1', 'a'), finish])).toEqual([
      ...call('1', 'a'),
      finish,
    ]);
  });

  it('passes on before which stop sequence an answer without calls has ended', () => {
    const stopped: ProviderChunk = { type: 'finish', reason: 'stop', stopSequence: 'END' };
    expect(admitted({ tools }, [stopped])).toEqual([stopped]);
    expect(admitted({ tools }, [...call('0', 'a'), stopped])).toEqual([...call('0', 'a'), finish]);
  });

  it('finishes with stop when every call was suppressed', () => {
    expect(admitted({ tools, tool_choice: 'none' }, [...call('0', 'a'), finish])).toEqual([
      { type: 'finish', reason: 'stop' },
    ]);
  });

  it('suppresses a call outside the allowed set', () => {
    const rules: Rules = {
      tools,
      tool_choice: { type: 'allowed_tools', tools: [{ type: 'function', name: 'a' }] },
    };
    expect(admitted(rules, [...call('0', 'b'), finish])).toEqual([{ type: 'finish', reason: 'stop' }]);
  });

  it('tells custom tools from functions', () => {
    const custom: ProviderChunk[] = [
      { type: 'custom_tool_call', callKey: '1', name: 'shell' },
      { type: 'custom_tool_input', callKey: '1', delta: 'ls' },
    ];
    const chunks = [...call('0', 'a'), ...custom, finish];
    expect(admitted({ tools: [...tools, { type: 'custom', name: 'shell' }] }, chunks)).toEqual(chunks);
    const asFunction = { type: 'function' as const, name: 'shell' };
    expect(admitted({ tools: [...tools, asFunction] }, chunks)).toEqual([...call('0', 'a'), finish]);
  });

  it('keeps one call when parallel calls are switched off', () => {
    const chunks = [...call('0', 'a'), ...call('1', 'b'), finish];
    expect(admitted({ tools, parallel_tool_calls: false }, chunks)).toEqual([...call('0', 'a'), finish]);
  });

  it('says that a call was made where the upstream only says stop', () => {
    const stop: ProviderChunk = { type: 'finish', reason: 'stop' };
    expect(admitted({ tools }, [...call('0', 'a'), stop]).at(-1)).toEqual(finish);
  });

  it('leaves the other reasons alone', () => {
    const cut: ProviderChunk = { type: 'finish', reason: 'max_output_tokens' };
    expect(admitted({ tools }, [...call('0', 'a'), cut]).at(-1)).toEqual(cut);
  });
});
