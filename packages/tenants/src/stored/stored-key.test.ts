import { describe, expect, it } from 'vitest';
import { stateOfKey, type StoredKey, StoredKeyReader, storedKeyText } from './stored-key.ts';

const key: StoredKey = {
  id: 'key_a1',
  name: 'team',
  hash: `sha256:${'a'.repeat(64)}`,
  last4: 'wxyz',
  models: ['*'],
  tiers: ['default'],
  limits: { queued: 5 },
  createdAt: '2026-01-02T03:04:05.678Z',
};

const read = (entries: Record<string, string>) =>
  new StoredKeyReader().read(new Map(Object.entries(entries)));

describe('a stored key', () => {
  it('is read as it was written, without its id in the text', () => {
    const full: StoredKey = {
      ...key,
      weight: 2.5,
      expiresAt: '2027-01-01T00:00:00.000Z',
      revokedAt: '2026-02-01T00:00:00.000Z',
      replacedBy: 'key_b2',
    };
    expect(storedKeyText(full)).not.toContain('key_a1');
    expect(read({ key_a1: storedKeyText(full) })).toEqual({ keys: [full], unreadable: [] });
  });

  it('comes in the order in which it was made', () => {
    const texts = Object.fromEntries(
      ['03', '01', '02'].map((day) => [
        `key_${day}`,
        storedKeyText({ ...key, createdAt: `2026-01-${day}T00:00:00.000Z` }),
      ]),
    );
    expect(read(texts).keys.map(({ id }) => id)).toEqual(['key_01', 'key_02', 'key_03']);
  });

  it.each([
    ['no JSON', '{', 'is not JSON'],
    ['a text', '"x"', 'does not have the members of a key'],
    ['a plain key', storedKeyText({ ...key, hash: 'sk-secret' }), 'hash is not valid'],
    [
      'a limit that makes no sense',
      storedKeyText({ ...key, limits: { queued: 0 } }),
      'limits.queued is not valid',
    ],
    [
      'a limit of a later release',
      JSON.stringify({ ...key, id: undefined, limits: { later: 1 } }),
      'limits is not valid',
    ],
    [
      'a member of a later release',
      JSON.stringify({ ...key, id: undefined, scope: 'x' }),
      'does not have the members of a key',
    ],
    ['a time that is none', storedKeyText({ ...key, revokedAt: 'yesterday' }), 'revokedAt is not valid'],
  ])('is refused with %s', (_what, text, problem) => {
    expect(read({ key_a1: text })).toEqual({ keys: [], unreadable: [{ id: 'key_a1', problem }] });
  });

  it('is refused under what is no id', () => {
    const { unreadable } = read({ ['x'.repeat(100)]: storedKeyText(key) });
    expect(unreadable).toEqual([{ id: 'x'.repeat(64), problem: 'is not the id of a key' }]);
  });

  it('is read again once its text has changed', () => {
    const reader = new StoredKeyReader();
    const revoked = { ...key, revokedAt: '2026-02-01T00:00:00.000Z' };
    const [first] = reader.read(new Map([[key.id, storedKeyText(key)]])).keys;
    const [same] = reader.read(new Map([[key.id, storedKeyText(key)]])).keys;
    expect(same).toBe(first);
    expect(reader.read(new Map([[key.id, storedKeyText(revoked)]])).keys).toEqual([revoked]);
  });

  it.each([
    [{}, 'active'],
    [{ expiresAt: '2026-06-01T00:00:00.001Z' }, 'active'],
    [{ expiresAt: '2026-06-01T00:00:00.000Z' }, 'expired'],
    [{ expiresAt: '2030-01-01T00:00:00.000Z', revokedAt: '2026-01-01T00:00:00.000Z' }, 'revoked'],
  ] as const)('with %j is %s', (times, state) => {
    expect(stateOfKey(times, Date.parse('2026-06-01T00:00:00.000Z'))).toBe(state);
  });
});
