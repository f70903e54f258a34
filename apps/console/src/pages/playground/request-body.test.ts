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
        isStreamed: true,
        isBackground: true,
      }),
    ).toEqual({
      body: {
        ...{ model: 'm', input: 'Hi', instructions: 'Be short' },
        ...{ temperature: 0, max_output_tokens: 20, stream: true, background: true },
      },
    });
  });

  it('takes a list as items', () => {
    expect(bodyOf({ ...form, input: ' [{"role":"user","content":"Hi"}]' })).toEqual({
      body: { model: 'm', input: [{ role: 'user', content: 'Hi' }] },
    });
  });

  it.each([
    [{ input: '[{"role":' }, 'input', 'no JSON'],
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
