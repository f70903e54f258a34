import { forEachTest, testRedis } from '@sluice/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { ModelStore } from '../src/models/stored-settings.ts';

const redis = forEachTest(testRedis);
let store: ModelStore;

beforeEach(() => {
  store = new ModelStore({ connection: redis.client, keyPrefix: redis.prefix });
});

const entries = new Map([['a', '{}']]);

describe('the store of models and providers', () => {
  it('changes one kind, and says so by the version of both', async () => {
    const from = await store.read();
    expect(from.version).toBeUndefined();
    expect(await store.change('providers', { from, entries, version: '1' })).toBe(true);
    const read = await store.read();
    expect([read.version, await store.version()]).toEqual([' 1', ' 1']);
    expect([read.providers.entries, read.models.entries]).toEqual([entries, new Map()]);
    expect(await store.change('models', { from: read, entries, version: '2' })).toBe(true);
    expect(await store.version()).toBe('2 1');
  });

  it('changes nothing when the other kind has changed since it was read', async () => {
    const from = await store.read();
    await store.change('providers', { from, entries, version: '1' });
    expect(await store.change('models', { from, entries, version: '2' })).toBe(false);
    expect((await store.read()).models).toEqual({ version: undefined, entries: new Map() });
  });

  it('counts a change once whose reply was lost, also when the other kind has changed since', async () => {
    const from = await store.read();
    const change = { from, entries, version: '1' };
    await store.change('models', change);
    await store.change('providers', { from: await store.read(), entries, version: '2' });
    expect(await store.change('models', change)).toBe(true);
    expect(await store.version()).toBe('1 2');
  });
});
