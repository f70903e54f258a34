import type { Generation, OutputItem } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { estimatedUsage } from './estimated-usage.ts';

const generation: Generation = { input: [{ type: 'message', role: 'user', content: 'x'.repeat(400) }] };
const said: OutputItem = {
  type: 'message',
  id: 'msg_1',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'y'.repeat(4000), annotations: [], logprobs: [] }],
};

describe('estimated usage', () => {
  it('is that of the input and the texts of the output', () => {
    expect(estimatedUsage(generation, [said])).toMatchObject({
      input_tokens: 104,
      output_tokens: 1000,
      total_tokens: 1104,
    });
  });

  it('is that of the input alone for embeddings, whose output is vectors', () => {
    expect(estimatedUsage({ ...generation, embedding: { form: 'texts' } }, [said])).toMatchObject({
      input_tokens: 104,
      output_tokens: 0,
      total_tokens: 104,
    });
  });
});
