import { describe, expect, it } from 'vitest';
import { bodyOf, emptyForm } from './request-body.ts';

const form = { ...emptyForm, model: 'm', input: 'Hi', isStreamed: false };

describe('the body of a request', () => {
  it('has what was filled in, and nothing else', () => {
    expect(bodyOf(form)).toEqual({ body: { model: 'm', input: 'Hi' } });
    expect(
      bodyOf({
        ...form,
        instructions: 'Be short',
        temperature: '0',
        maxOutputTokens: '20',
        effort: 'low',
        tier: 'flex',
        isStored: false,
        isStreamed: true,
        isBackground: true,
      }),
    ).toEqual({
      body: {
        ...{ model: 'm', input: 'Hi', instructions: 'Be short' },
        ...{ reasoning: { effort: 'low' }, service_tier: 'flex', store: false },
        ...{ temperature: 0, max_output_tokens: 20, stream: true, background: true },
      },
    });
  });

  it('takes a list as items where that was chosen, and as a text where it was not', () => {
    const input = '[{"role":"user","content":"Hi"}]';
    expect(bodyOf({ ...form, input, isInputItems: true })).toEqual({
      body: { model: 'm', input: [{ role: 'user', content: 'Hi' }] },
    });
    expect(bodyOf({ ...form, input })).toEqual({ body: { model: 'm', input } });
  });

  it.each([
    [{ input: '[{"role":', isInputItems: true }, 'input', 'no JSON'],
    [{ tools: '{}' }, 'tools', 'JSON array'],
    [{ tools: '[' }, 'tools', 'no JSON'],
    [{ temperature: 'warm' }, 'temperature', 'number'],
    [{ maxOutputTokens: '1e999' }, 'max_output_tokens', 'number'],
  ])('says what of %j is no value', (typed, field, message) => {
    expect(bodyOf({ ...form, ...typed })).toEqual({
      problem: { field, message: expect.stringContaining(message) },
    });
  });
});
