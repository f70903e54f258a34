import type { Generation } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { readableReason } from './upstream-reason.ts';

const asked = (text: string, more: Partial<Generation> = {}): Generation => ({
  input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
  ...more,
});
const nothing = asked('Hi');

describe('the reason of an upstream', () => {
  it.each([
    'CUDA out of memory on GPU 3',
    'CUDA out of memory. Tried to allocate 2.34 GiB (GPU 0; 79.15 GiB total capacity; 77.20 GiB already allocated)',
    'The model `llama-3-70b` does not exist',
    'NCCL error: unhandled system error, rank 2',
  ])('stays as it is: %s', (words) => {
    expect(readableReason(words, nothing)).toBe(words);
  });

  it('is one line of at most 256 characters', () => {
    const reason = readableReason(`No\nroom. ${'The worker has died again. '.repeat(40)}`, nothing);
    expect(reason).toMatch(/^No room\. The worker/);
    expect(reason).toHaveLength(256);
  });

  it.each([
    ['a sentence', 'Cannot process: my pelican-4711 and his brother Zacharias'],
    ['other letters', 'Invalid message PELICAN-4711'],
    ['a part of a word', 'Invalid message: pelic'],
    ['a part of a longer word', 'Invalid message: xxpelican4711xx'],
    ['escapes', String.raw`Invalid message: \u0070\u0065\u006c\u0069\u0063\u0061\u006e`],
    ['wide letters', 'Invalid message: ｐｅｌｉｃａｎ'],
    ['letters that nobody sees', 'Invalid message: pel\u200bican'],
  ])('has no word of the request: %s', (_, words) => {
    const reason = readableReason(words, asked('I love my Pelican-4711 and his brother Zacharias.')) ?? '';
    expect(reason).not.toMatch(/pel|4711|zach/i);
    // The control: without that request it is there.
    expect(readableReason(words, nothing)).toMatch(/pel|4711|zach/i);
  });

  it.each<[string, Partial<Generation>]>([
    ['the instructions', { instructions: 'Call her flamingo.' }],
    ['a tool', { tools: [{ type: 'function', name: 'flamingo', parameters: {}, strict: false }] }],
    [
      'a field of a tool',
      { tools: [{ type: 'function', name: 'f', parameters: { flamingo: {} }, strict: false }] },
    ],
    ['the user', { user: 'flamingo' }],
  ])('has no word of %s', (_, more) => {
    expect(readableReason('Request of flamingo failed', asked('Hi', more))).toBe('Request of … failed');
  });

  it('has no number that is told in short ones', () => {
    const reason = readableReason('Refused 49 89 12 34 56 today', nothing);
    expect(reason).toBe('Refused … today');
  });

  it.each([
    ['Incorrect API key provided: my-own-key', 'my-own-key'],
    ['Authorization: Bearer abc.def', 'abc.def'],
    ['Refused sk-proj-12ab', '12ab'],
    ['Refused 8f14e45fceea167a5a36dedd4bea2543', '8f14e45f'],
    ['Client 10.1.2.3:443 is blocked', '10.1.2.3'],
    ['Client 2001:db8::17 is blocked', '2001:db8'],
    ['Client ann@example.com is blocked', 'ann@'],
    ['Nothing at http://model.internal:8000/v1', 'model.internal'],
  ])('has no key and no address: %s', (words, secret) => {
    const reason = readableReason(words, nothing);
    expect(reason).toMatch(/\[(?:key|address)\]/);
    expect(reason).not.toContain(secret);
  });

  it.each([
    [
      'a request that is too long to look through',
      asked('word '.repeat(40_000)),
      'CUDA out of memory for heron',
    ],
    ['a request that nobody has read', undefined, 'CUDA out of memory for heron'],
    ['a parser, which may quote an answer', nothing, 'Server error: failed to parse heron'],
  ])('has plain words alone after %s', (_, generation, words) => {
    const reason = readableReason(words, generation);
    expect(reason).not.toContain('heron');
    expect(reason).toMatch(/^(?:CUDA out of memory for|Server error: failed to …) ?…?$/);
  });

  it('is none when nothing is left', () => {
    expect(readableReason('pelican', asked('pelican'))).toBeUndefined();
    expect(readableReason(' \n', nothing)).toBeUndefined();
    expect(readableReason(undefined, nothing)).toBeUndefined();
  });
});
