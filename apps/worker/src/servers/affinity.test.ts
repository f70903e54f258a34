import type { Generation } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { affinityOf, blockCharacters, mostBlocks } from './affinity.ts';

const user = (text: string) =>
  ({
    type: 'message',
    role: 'user',
    content: [{ type: 'input_text', text }],
  }) satisfies Generation['input'][number];
const assistant = (text: string) =>
  ({
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text }],
  }) satisfies Generation['input'][number];
const instructions = 'You are helpful. '.repeat(200);
const affinity = (given: Partial<Generation>, tenant = 'team', previous?: string) =>
  affinityOf({ input: [], ...given }, { tenant, previous });

describe('the affinity of a call', () => {
  it('is by the beginning of the prompt, so that conversations with one beginning go together', () => {
    const key = affinity({ instructions, input: [user('one')] })?.key;
    expect(affinity({ instructions, input: [user('two'), assistant('yes'), user('three')] })?.key).toBe(key);
    expect(affinity({ instructions: `Be brief. ${instructions}`, input: [user('one')] })?.key).not.toBe(key);
  });

  it('tells tenants apart, whatever they say', () => {
    expect(affinity({ instructions }, 'one')?.key).not.toBe(affinity({ instructions }, 'other')?.key);
    const named = { prompt_cache_key: 'k' };
    expect(affinity(named, 'one')?.key).not.toBe(affinity(named, 'other')?.key);
    expect(affinity({ prompt_cache_key: 'b:k' }, 'a')?.key).not.toBe(
      affinity({ prompt_cache_key: 'k' }, 'a:b')?.key,
    );
  });

  it('is by the key of the client before the beginning of the prompt', () => {
    const one = affinity({ instructions, prompt_cache_key: 'k' });
    expect(affinity({ input: [user('something else')], prompt_cache_key: 'k' })?.key).toBe(one?.key);
    expect(affinity({ instructions, prompt_cache_key: 'l' })?.key).not.toBe(one?.key);
  });

  it('is none for embeddings, whose long texts would all go to one server', () => {
    expect(affinity({ input: [user(instructions)] })).toBeDefined();
    expect(affinity({ input: [user(instructions)], embedding: { form: 'texts' } })).toBeUndefined();
  });

  it('is none for a short prompt, unless it continues a response', () => {
    expect(affinity({ input: [user('Hello')] })).toBeUndefined();
    expect(affinity({ input: [user('Hello')] }, 'team', 'up s1')).toMatchObject({
      previous: 'up s1',
      goesOn: true,
    });
  });

  it('tells whether a conversation goes on', () => {
    expect(affinity({ instructions, input: [user('one')] })?.goesOn).toBe(false);
    expect(affinity({ instructions, input: [user('one'), assistant('yes'), user('two')] })?.goesOn).toBe(
      true,
    );
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' } as const;
    expect(affinity({ instructions, input: [user('one'), call] })?.goesOn).toBe(true);
  });

  it('takes whole blocks of the beginning alone, and so many at most', () => {
    const text = 'x'.repeat(blockCharacters * mostBlocks);
    const key = affinity({ instructions: text })?.key;
    expect(affinity({ instructions: `${text}and more` })?.key).toBe(key);
    const short = 'x'.repeat(blockCharacters + 10);
    expect(affinity({ instructions: short, input: [user('one')] })?.key).toBe(
      affinity({ instructions: short, input: [user('two')] })?.key,
    );
    expect(affinity({ instructions: `y${text.slice(1)}` })?.key).not.toBe(key);
  });

  it('does not depend on ids, which are new in each response', () => {
    const items = (id: string) => [{ ...assistant('x'.repeat(600)), id }, user('and?')];
    expect(affinity({ input: items('msg_1') })?.key).toBe(affinity({ input: items('msg_2') })?.key);
  });

  it('reads no more of a large prompt than it needs', () => {
    let read = 0;
    const items = Array.from({ length: 1_000 }, () => ({
      ...user('x'.repeat(600)),
      get role() {
        read += 1;
        return 'user' as const;
      },
    }));
    affinity({ input: [user('x'.repeat(10_000)), assistant('x'), ...items] });
    expect(read).toBe(0);
  });
});
