import type { InputItem } from '@sluice/contract';
import { ContentSealer, sealingKeyOf } from '@sluice/response-store/sealed-content';
import { expect, test } from 'vitest';
import { openContext } from './open-context.ts';

const sealer = new ContentSealer([sealingKeyOf('a secret')], 't');
const lost = new ContentSealer([sealingKeyOf('another secret')], 't');
const summary = [{ type: 'summary_text' as const, text: 'Hm' }];
const opaque = { origin: 'kind:up', data: 'theirs' };

function reasoning(text: string): InputItem {
  const encrypted_content = sealer.sealReasoning({ text, opaque }) ?? '';
  return { type: 'reasoning', id: 'rs_1', summary, encrypted_content };
}

test('reasoning has its raw text back, and what its upstream gave with it', () => {
  expect(openContext([reasoning('Let me.')], sealer)).toEqual([
    {
      type: 'reasoning',
      id: 'rs_1',
      summary,
      content: [{ type: 'reasoning_text', text: 'Let me.' }],
      opaque,
    },
  ]);
  expect(openContext([reasoning('')], sealer)).toEqual([{ type: 'reasoning', id: 'rs_1', summary, opaque }]);
});

test('reasoning that no longer opens keeps what is readable', () => {
  expect(openContext([reasoning('Let me.')], lost)).toEqual([{ type: 'reasoning', id: 'rs_1', summary }]);
});

test('a compaction becomes a message of the assistant, and everything else stays as it is', () => {
  const message: InputItem = { type: 'message', role: 'user', content: 'Hi' };
  const compaction: InputItem = {
    type: 'compaction',
    encrypted_content: sealer.sealCompaction('They spoke of rain.') ?? '',
  };
  expect(openContext([message, compaction], sealer)).toEqual([
    message,
    {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Summary of the conversation so far:\n\nThey spoke of rain.' }],
    },
  ]);
  expect(() => openContext([compaction], lost)).toThrow(
    expect.objectContaining({ code: 'invalid_prompt', disposition: 'fail', param: 'input' }),
  );
});
