import { hashKey } from '@sluice/config';
import { describe, expect, it } from 'vitest';
import { createKey, wellFormedKey } from './api-keys.ts';

describe('createKey', () => {
  it('makes well-formed keys that differ', () => {
    const keys = Array.from({ length: 200 }, () => createKey());
    expect(new Set(keys).size).toBe(keys.length);
    for (const key of keys) {
      expect(key).toMatch(/^sk-sluice-[0-9A-Za-z]{38}$/);
      expect(wellFormedKey(key)).toBe(true);
    }
    expect(createKey('sk-sluice-dev-')).toMatch(/^sk-sluice-dev-[0-9A-Za-z]{38}$/);
  });
});

describe('wellFormedKey', () => {
  it('notices any single changed character', () => {
    const key = createKey('sk-sluice-dev-');
    expect(wellFormedKey(key)).toBe(true);
    for (let index = 0; index < key.length; index++) {
      const other = key[index] === 'x' ? 'y' : 'x';
      expect(wellFormedKey(key.slice(0, index) + other + key.slice(index + 1))).toBe(false);
    }
  });

  it.each(['', 'sk-sluice-', 'sk-other-0000', 'a'.repeat(10_000)])('refuses other text', (text) => {
    expect(wellFormedKey(text)).toBe(false);
  });
});

describe('hashKey', () => {
  it('is the SHA-256 of the text', () => {
    expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
