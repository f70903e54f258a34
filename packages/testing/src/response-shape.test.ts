import { responseFor } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { checkResponse } from './response-shape.ts';

const good = {
  ...responseFor(
    {
      model: 'simulator',
      tools: [{ type: 'function', name: 'add' }],
      tool_choice: { type: 'allowed_tools', tools: [{ type: 'function', name: 'add' }] },
      text: { verbosity: 'low' },
      user: 'u',
    },
    { id: 'create-response_abcdefghijklmnopqrstuvwxyz', createdAt: 1_700_000_000, serviceTier: 'default' },
  ),
  object: 'response',
};

describe('the shape of a response', () => {
  it('is that of the contract', () => {
    expect(checkResponse(good)).toEqual([]);
    expect(checkResponse(null)).toEqual(['the response is not an object']);
  });

  it('has no member that the contract does not know, at any depth', () => {
    expect(checkResponse({ ...good, extra: 1 })).toEqual(['response.extra is not a member of a response']);
    const [tool] = good.tools;
    expect(checkResponse({ ...good, tools: [{ ...tool, extra: 1 }] })).toEqual([
      expect.stringContaining('response.tools may not be'),
    ]);
  });

  it('may leave out what only some requests say', () => {
    const { user: _, ...rest } = good;
    expect(checkResponse({ ...rest, text: { format: { type: 'text' } } })).toEqual([]);
    expect(checkResponse({ ...good, user: undefined })).not.toEqual([]);
  });

  it.each(Object.keys(good).filter((name) => name !== 'user'))('needs %s', (name) => {
    const { [name]: _, ...rest } = good as Record<string, unknown>;
    expect(checkResponse(rest)).toEqual([`response.${name} is missing`]);
  });
});
