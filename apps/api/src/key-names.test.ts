import { hashKey } from '@sluice/config';
import { type StoredKey, uniteKeys } from '@sluice/tenants';
import { describe, expect, it } from 'vitest';
import { keyNames, storedNameOf } from './key-names.ts';

const stored: StoredKey = {
  id: 'key_1',
  name: 'team',
  hash: `sha256:${hashKey('plain')}`,
  last4: 'wxyz',
  models: ['*'],
  tiers: ['default'],
  limits: {},
  createdAt: '2026-01-01T00:00:00.000Z',
};

describe('the name of a key', () => {
  const names = keyNames(() => ({ stored: [stored] }));

  it('is the id of the stored key whose requests it comes from', () => {
    const settings = { keys: [], tenants: [], models: [], providers: [] };
    const [inEffect] = uniteKeys({ settings, stored: [stored] }).keys;
    const kept = storedNameOf(inEffect ?? { hash: '' });
    expect(names.idOf(kept)).toBe('key_1');
    expect(names.storedOf('key_1')).toBe(kept);
    // As a warning of its budget names it.
    expect(names.storedOf(kept)).toBe(kept);
  });

  it('is looked up in keys that are read once, and again when there are others', () => {
    let read = 0;
    const keyOf = (at: number): StoredKey => ({
      ...stored,
      id: `key_${at}`,
      get hash() {
        read += 1;
        return `sha256:${hashKey(String(at))}`;
      },
    });
    let keys = Array.from({ length: 100 }, (_, at) => keyOf(at));
    const many = keyNames(() => ({ stored: keys }));
    for (let at = 0; at < 100; at += 1) expect(many.idOf(many.storedOf(`key_${at}`))).toBe(`key_${at}`);
    expect(read).toBe(200);
    keys = [...keys, keyOf(100)];
    expect(many.storedOf('key_100')).toBe(storedNameOf({ hash: hashKey('100') }));
  });

  it('is what the store has of a key of the file', () => {
    const kept = storedNameOf({ hash: hashKey('of the file') });
    expect(names.idOf(kept)).toBe(kept);
    expect(names.storedOf(kept)).toBe(kept);
  });
});
