import { hashKey, type KeySettings } from '@sluice/config';
import { describe, expect, it } from 'vitest';
import { KeyRing } from './key-ring.ts';

function entry(plain: string, changes: Partial<KeySettings> = {}): KeySettings {
  return {
    name: 'a',
    hash: hashKey(plain),
    models: ['*'],
    tiers: ['default'],
    weight: 1,
    limits: { readsPerMinute: 60_000, cells: 1 },
    disabled: false,
    ...changes,
  };
}

describe('KeyRing', () => {
  it('finds a key by what the client shows', () => {
    const [one, two] = [entry('one'), entry('two', { name: 'b' })];
    const ring = new KeyRing({ keys: [one, two] });
    expect(ring.find('one')).toBe(one);
    expect(ring.find('two')).toBe(two);
  });

  it('says of one tenant what its keys may do together', () => {
    const keys = [
      entry('one', { models: ['x'] }),
      entry('two', { name: 'b' }),
      entry('three', { models: ['y'] }),
    ];
    const ring = new KeyRing({ keys });
    expect(ring.tenant('a')).toEqual(ring.tenants()[0]);
    expect(ring.tenant('a')?.models).toEqual(['x', 'y']);
    expect(ring.tenant('c')).toBeUndefined();
  });

  it.each(['', 'ONE', 'one ', hashKey('one'), '__proto__', 'x'.repeat(100_000)])(
    'does not know %.20s',
    (plain) => {
      expect(new KeyRing({ keys: [entry('one')] }).find(plain)).toBeUndefined();
    },
  );

  it('does not find a disabled key', () => {
    expect(new KeyRing({ keys: [entry('one', { disabled: true })] }).find('one')).toBeUndefined();
  });

  it('finds a key until the moment it expires', () => {
    const expiresAt = '2030-01-01T00:00:00.000Z';
    let time = Date.parse(expiresAt) - 1;
    const ring = new KeyRing({ keys: [entry('one', { expiresAt })], now: () => time });
    expect(ring.find('one')?.name).toBe('a');
    time += 1;
    expect(ring.find('one')).toBeUndefined();
  });
});
