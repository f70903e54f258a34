import type { Generation } from '@sluice/contract';
import { said } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { estimatedUsage } from './estimated-usage.ts';

const generation: Generation = { input: [{ type: 'message', role: 'user', content: 'x'.repeat(400) }] };
const output = [said('y'.repeat(4000))];

describe('estimated usage', () => {
  it('is that of the input and the texts of the output', () => {
    expect(estimatedUsage(generation, output)).toMatchObject({
      input_tokens: 104,
      output_tokens: 1000,
      total_tokens: 1104,
    });
  });

  it('is that of the input alone for embeddings, whose output is vectors', () => {
    expect(estimatedUsage({ ...generation, embedding: { form: 'texts' } }, output)).toMatchObject({
      input_tokens: 104,
      output_tokens: 0,
      total_tokens: 104,
    });
  });
});
