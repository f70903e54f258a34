import { hashKey, type KeySettings } from '@sluice/config';
import { describe, expect, it } from 'vitest';
import { LiveSettings } from './live-settings.ts';

function key(plain: string, changes: Partial<KeySettings> = {}): KeySettings {
  return {
    name: plain,
    hash: hashKey(plain),
    models: ['*'],
    tiers: ['default'],
    weight: 1,
    limits: { readsPerMinute: 60_000, cells: 1 },
    disabled: false,
    ...changes,
  };
}

const limits = {
  queued: 10,
  queuedBytes: 1000,
  bodyBytes: 100,
  bodyBytesInFlight: 200,
  redisMemoryPercent: 80,
};
const others = { queued: 5, queuedBytes: 500, bodyBytes: 50, bodyBytesInFlight: 100, redisMemoryPercent: 80 };

describe('LiveSettings', () => {
  it('find new keys, and no revoked ones, once they are replaced', () => {
    const live = new LiveSettings({ keys: [key('stays'), key('goes')], limits });
    live.replace({ keys: [key('stays'), key('comes')], limits: others });
    expect(['stays', 'goes', 'comes'].map((plain) => live.keys.find(plain)?.name)).toEqual([
      'stays',
      undefined,
      'comes',
    ]);
    expect(live.limits).toEqual(others);
  });

  it('leave a key that was found as it was', () => {
    const live = new LiveSettings({ keys: [key('a')], limits });
    const found = live.keys.find('a');
    live.replace({ keys: [key('a', { models: ['other'] })], limits });
    expect(found?.models).toEqual(['*']);
    expect(live.keys.find('a')?.models).toEqual(['other']);
  });

  it('keep their clock for the expiry of keys', () => {
    const expiresAt = '2030-01-01T00:00:00.000Z';
    const live = new LiveSettings({ keys: [], limits, now: () => Date.parse(expiresAt) });
    live.replace({ keys: [key('a', { expiresAt })], limits });
    expect(live.keys.find('a')).toBeUndefined();
  });
});
