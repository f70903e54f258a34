import type { KeySettings } from '@sluice/config';
import { expect, it } from 'vitest';
import { tenantsOf } from './tenants-of-keys.ts';

const now = Date.parse('2026-06-01T00:00:00Z');

function key(name: string, more: Partial<KeySettings> = {}): KeySettings {
  return {
    name,
    hash: 'a'.repeat(64),
    models: ['*'],
    tiers: ['default'],
    weight: 2,
    limits: { readsPerMinute: 6000, queued: 5, cells: 1 },
    disabled: false,
    ...more,
  };
}

it('names each tenant once, with what any of its keys may ask for, and no key', () => {
  const keys = [
    key('team-a', { models: ['one'], tiers: ['flex'] }),
    key('team-b'),
    key('team-a', { models: ['two', 'one'], tiers: ['default', 'flex'] }),
  ];
  const limits = { readsPerMinute: 6000, queued: 5, cells: 1 };
  expect(tenantsOf(keys, now)).toEqual([
    { name: 'team-a', weight: 2, models: ['one', 'two'], tiers: ['flex', 'default'], limits },
    { name: 'team-b', weight: 2, models: ['*'], tiers: ['default'], limits },
  ]);
});

it('says that a tenant may use all models when one of its keys may', () => {
  const [tenant] = tenantsOf([key('team-a', { models: ['one'] }), key('team-a')], now);
  expect(tenant?.models).toEqual(['*']);
});

it('leaves out what only keys that are disabled or expired may ask for, and keeps their tenant', () => {
  const keys = [
    key('team-a', { disabled: true }),
    key('team-a', { expiresAt: new Date(now).toISOString() }),
    key('team-b', { expiresAt: new Date(now + 1).toISOString() }),
  ];
  const found = tenantsOf(keys, now).map(({ name, models, tiers }) => ({ name, models, tiers }));
  expect(found).toEqual([
    { name: 'team-a', models: [], tiers: [] },
    { name: 'team-b', models: ['*'], tiers: ['default'] },
  ]);
});
