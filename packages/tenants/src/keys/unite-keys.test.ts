import { hashKey, loadSettings } from '@sluice/config';
import { describe, expect, it } from 'vitest';
import { checkNewKey } from '../change/new-key.ts';
import type { StoredKey } from '../stored/stored-key.ts';
import { uniteKeys } from './unite-keys.ts';

const settingsOf = (keys: string) =>
  loadSettings({
    env: {},
    argv: [],
    cwd: '/',
    readFile: () => `
providers: [{ id: p, type: simulator }]
models: [{ id: large, routes: [{ provider: p }] }, { id: small, routes: [{ provider: p }] }]
keys: ${keys}
`,
  });

function stored(id: string, changes: Partial<StoredKey> = {}): StoredKey {
  return {
    id,
    name: 'team',
    hash: `sha256:${hashKey(id)}`,
    last4: 'wxyz',
    models: ['*'],
    tiers: ['default'],
    limits: {},
    createdAt: '2026-01-01T00:00:00.000Z',
    ...changes,
  };
}

const ofFile = settingsOf('[{ name: team, key: k, limits: { queued: 5 } }]');
const without = settingsOf('[]');

describe('the keys of the file and the stored ones', () => {
  it('share the limits of their tenant, whoever of them says what', () => {
    const { keys, conflicts } = uniteKeys({
      settings: ofFile,
      stored: [stored('key_1', { weight: 3, limits: { requestsPerMinute: 7 } }), stored('key_2')],
    });
    expect(conflicts).toEqual([]);
    expect(keys.map(({ hash }) => hash)).toEqual([hashKey('k'), hashKey('key_1'), hashKey('key_2')]);
    for (const key of keys) {
      expect(key).toMatchObject({
        name: 'team',
        weight: 3,
        limits: { queued: 5, requestsPerMinute: 7, readsPerMinute: 60_000, cells: 1 },
        disabled: false,
      });
    }
  });

  it('take nothing from a key of another tenant', () => {
    const other = stored('key_1', { name: 'other', weight: 9, limits: { queued: 1, requestsPerMinute: 1 } });
    const { keys } = uniteKeys({ settings: ofFile, stored: [other, stored('key_2', { name: 'third' })] });
    expect(keys.map(({ name, weight, limits }) => [name, weight, limits])).toEqual([
      ['team', 1, { queued: 5, readsPerMinute: 60_000, cells: 1 }],
      ['other', 9, { queued: 1, requestsPerMinute: 1, readsPerMinute: 60_000, cells: 1 }],
      ['third', 1, { readsPerMinute: 60_000, cells: 1 }],
    ]);
  });

  it('follow the file, then the older key, where they contradict each other', () => {
    const { keys, conflicts } = uniteKeys({
      settings: ofFile,
      stored: [
        stored('key_1', { limits: { queued: 6, concurrent: 1 } }),
        stored('key_2', { limits: { concurrent: 2 } }),
        stored('key_3', { limits: { queued: 5, concurrent: 1 } }),
      ],
    });
    expect(keys).toHaveLength(4);
    for (const { limits } of keys) expect(limits).toMatchObject({ queued: 5, concurrent: 1 });
    expect(conflicts).toEqual([
      {
        id: 'key_1',
        path: ['limits', 'queued'],
        message: 'differs from the settings file, which says 5 for "team"; give both one value',
      },
      {
        id: 'key_2',
        path: ['limits', 'concurrent'],
        message: 'differs from key_1, which says 1 for "team"; give both one value',
      },
    ]);
  });

  it('hold a default that the file writes out against a stored key that says otherwise', () => {
    const settings = settingsOf('[{ name: team, key: k, weight: 1, limits: { readsPerMinute: 6000 } }]');
    const { keys, conflicts } = uniteKeys({
      settings,
      stored: [stored('key_1', { weight: 2, limits: { readsPerMinute: 5 } })],
    });
    expect(conflicts.map(({ path }) => path)).toEqual([['limits', 'readsPerMinute'], ['weight']]);
    expect(keys[1]).toMatchObject({ weight: 1, limits: { readsPerMinute: 6000 } });
  });

  it('leave out revoked keys and what they say', () => {
    const revokedAt = '2026-01-01T00:00:00.000Z';
    const { keys } = uniteKeys({
      settings: without,
      stored: [stored('key_1', { revokedAt, limits: { queued: 1 } }), stored('key_2')],
    });
    expect(keys.map(({ hash, limits }) => [hash, limits])).toEqual([
      [hashKey('key_2'), { readsPerMinute: 60_000, cells: 1 }],
    ]);
  });

  it('refuse a revoked key under any other id', () => {
    const revoked = stored('key_1', { revokedAt: '2026-01-01T00:00:00.000Z' });
    const { keys, conflicts } = uniteKeys({
      settings: without,
      stored: [stored('key_0', { hash: revoked.hash }), revoked],
    });
    expect(keys).toEqual([]);
    expect(conflicts).toMatchObject([{ id: 'key_0', path: [] }]);
  });

  it("keep the file's rules for a key that both have", () => {
    const { keys, conflicts } = uniteKeys({
      settings: ofFile,
      stored: [stored('key_1', { name: 'other', hash: `sha256:${hashKey('k')}` })],
    });
    expect(keys.map(({ name }) => name)).toEqual(['team']);
    expect(conflicts).toMatchObject([{ id: 'key_1', path: [] }]);
  });

  it('name a model that is gone, and let its key use the others', () => {
    const { keys, conflicts } = uniteKeys({
      settings: without,
      stored: [stored('key_1', { models: ['large', 'gone'] })],
    });
    expect(keys[0]?.models).toEqual(['large', 'gone']);
    expect(conflicts).toMatchObject([{ id: 'key_1', path: ['models', 1] }]);
  });
});

const now = Date.parse('2026-06-01T00:00:00.000Z');
const check = (
  wanted: Record<string, unknown>,
  rest: { settings?: typeof ofFile; stored?: StoredKey[] } = {},
) => checkNewKey({ wanted, settings: rest.settings ?? ofFile, stored: rest.stored ?? [], now });

describe('a key that is to be stored', () => {
  it('has the defaults of the file, and its expiry in UTC', () => {
    expect(check({ name: 'new', expiresAt: '2027-01-31T12:00:00+02:00' })).toEqual({
      name: 'new',
      models: ['*'],
      tiers: ['default', 'flex'],
      limits: {},
      expiresAt: '2027-01-31T10:00:00.000Z',
    });
  });

  it('is refused with every problem that the file would be refused for', () => {
    const refused = check({
      name: 'a b',
      models: ['large', ''],
      tiers: ['gold'],
      weight: -1,
      limits: { queued: 'many', requestsPerMinute: 0, concurrent: 1.5 },
      expiresAt: '2027-02-31',
    });
    expect(refused).toMatchObject({
      problems: [
        { path: ['name'], message: expect.stringContaining('must be 1 to 64 letters') },
        { path: ['models', 1], message: expect.stringContaining('it is empty') },
        { path: ['tiers', 0], message: 'must be one of default, flex, priority' },
        { path: ['weight'], message: 'must be a number from 0.1 to 1000' },
        { path: ['limits', 'requestsPerMinute'], message: expect.stringContaining('from 1 to') },
        { path: ['limits', 'concurrent'], message: expect.stringContaining('not a fraction') },
        { path: ['limits', 'queued'], message: expect.stringContaining('not text') },
        { path: ['expiresAt'], message: expect.stringContaining('must be a date') },
      ],
    });
  });

  it.each([
    [
      { name: 'new', models: ['larg'] },
      ['models', 0],
      '"larg" is not the id of a model of the settings file; did you mean "large"?',
    ],
    [{ name: 'new', expiresAt: '2026-06-01' }, ['expiresAt'], 'is over; give a later one'],
    [
      { name: 'team', limits: { queued: 6 } },
      ['limits', 'queued'],
      'differs from the settings file, which says 5',
    ],
    [{ name: 'stored', limits: { queued: 6 } }, ['limits', 'queued'], 'differs from key_1, which says 4'],
    [{ name: 'stored', weight: 2 }, ['weight'], 'differs from key_1, which says 3'],
  ])('is refused as %j', (wanted, path, message) => {
    const known = [stored('key_1', { name: 'stored', weight: 3, limits: { queued: 4 } })];
    expect(check(wanted, { stored: known })).toEqual({
      problems: [{ path, message: expect.stringContaining(message) }],
    });
  });

  it('may say again what holds already', () => {
    expect(check({ name: 'team', limits: { queued: 5 } })).toMatchObject({ limits: { queued: 5 } });
  });

  it('keeps the limits of its tenant when the key is revoked that said them', () => {
    const known = [
      stored('key_1', { limits: { requestsPerMinute: 10, queued: 5 }, weight: 4 }),
      stored('key_2', { name: 'other', limits: { concurrent: 1 } }),
    ];
    const rules = check({ name: 'team' }, { stored: known });
    // What the file says is left to the file, where it may change.
    expect(rules).toMatchObject({ weight: 4, limits: { requestsPerMinute: 10 } });
    expect(rules).not.toMatchObject({ limits: { queued: 5 } });
    expect(rules).not.toMatchObject({ limits: { concurrent: 1 } });
  });

  it('leaves out what only a revoked key said', () => {
    const known = [
      stored('key_1', { limits: { requestsPerMinute: 10 }, revokedAt: '2026-01-01T00:00:00.000Z' }),
    ];
    expect(check({ name: 'team' }, { stored: known })).toMatchObject({ limits: {} });
  });
});
