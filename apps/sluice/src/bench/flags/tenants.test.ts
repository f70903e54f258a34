import { describe, expect, it } from 'vitest';
import { readTenants } from './tenants.ts';

const none = { keys: [], file: undefined, mix: undefined };

describe('tenants', () => {
  it('have names, also those that are given none', () => {
    expect(readTenants({ ...none, keys: ['team-a=sk-a', 'sk-b', 'sk-padded=='] }, 'unused')).toEqual([
      { value: { name: 'team-a', key: 'sk-a' }, weight: 1 },
      { value: { name: 'key-2', key: 'sk-b' }, weight: 1 },
      { value: { name: 'key-3', key: 'sk-padded==' }, weight: 1 },
    ]);
  });

  it('come from a file, too, which may have comments', () => {
    expect(readTenants({ ...none, keys: ['a=sk-a'], file: '# ours\n\nb=sk-b\r\n' }, undefined)).toEqual([
      { value: { name: 'a', key: 'sk-a' }, weight: 1 },
      { value: { name: 'b', key: 'sk-b' }, weight: 1 },
    ]);
  });

  it('are one when no flag names any, with the key that was found or none', () => {
    expect(readTenants(none, 'sk-found')).toEqual([{ value: { name: 'key-1', key: 'sk-found' }, weight: 1 }]);
    expect(readTenants(none, undefined)).toEqual([{ value: { name: 'key-1', key: undefined }, weight: 1 }]);
  });

  it('ask by their weights, and not at all without one', () => {
    const keys = ['a=sk-a', 'b=sk-b', 'c=sk-c'];
    expect(readTenants({ ...none, keys, mix: 'c=3,a' }, undefined)).toEqual([
      { value: { name: 'c', key: 'sk-c' }, weight: 3 },
      { value: { name: 'a', key: 'sk-a' }, weight: 1 },
    ]);
  });

  it.each([
    [{ ...none, keys: ['a=sk-secret', 'a=sk-other'] }, /^--key: 'a' is there twice/],
    [{ ...none, keys: ['a=sk-secret with a space'] }, /^--key: key 1 is not NAME=KEY/],
    [{ ...none, keys: ['sk-fine'], file: 'b = sk-secret' }, /^--keys: line 1 is not NAME=KEY/],
    [{ ...none, file: '# nothing' }, /^--keys: the file has no key/],
    [{ ...none, keys: ['a=sk-secret'], mix: 'b=1' }, /^--tenants: there is no 'b': use 'a'/],
    [
      { ...none, file: Array.from({ length: 1001 }, (_, at) => `t${at}=sk-secret`).join('\n') },
      /^--keys: there are 1001 keys; 1000 is the most/,
    ],
  ])('are refused by the name of the flag, without the key', (flags, message) => {
    const read = () => readTenants(flags, undefined);
    expect(read).toThrow(expect.objectContaining({ exitCode: 2, message: expect.stringMatching(message) }));
    expect(read).not.toThrow(/secret/);
  });
});
