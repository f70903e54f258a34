import type { ModelSettings } from '@sluice/config';
import { beforeEach, describe, expect, it } from 'vitest';
import { ModelChanges } from './model-changes.ts';
import { FakeModelStore } from '../../test/fake-model-store.ts';
import { simulator } from '../../test/settings-of-models.ts';
import { type ModelsAndProviders, parseStored } from './stored-settings.ts';

const ofFile: ModelSettings = {
  id: 'filed',
  queue: 'shared',
  concurrency: 4,
  routes: [{ provider: 'one', model: 'x' }],
};
const fileOf = (): ModelsAndProviders => ({
  models: [ofFile],
  providers: [simulator('one')],
});
let file: ModelsAndProviders;
let store: FakeModelStore;
let changes: ModelChanges;

beforeEach(() => {
  store = new FakeModelStore();
  file = fileOf();
  changes = new ModelChanges({
    store,
    file: () => file,
    timeouts: { queueMs: 1_000, backgroundQueueMs: 60_000, totalMs: 1_000 },
  });
});

const routes = [{ provider: 'one' }];
const stored = () => parseStored('models', store.hashes.models);

describe('a change of stored models', () => {
  it('adds one, changes what is given, and takes away what is null', async () => {
    await changes.add({ id: 'a', routes, concurrency: 2, contextTokens: 100 });
    const changed = await changes.change('a', { concurrency: null, contextTokens: 200 });
    expect(changed).toEqual({
      id: 'a',
      queue: 'a',
      contextTokens: 200,
      routes: [{ provider: 'one', model: 'a' }],
    });
    expect(stored().get('a')?.value).toEqual(changed);
  });

  it('keeps a removed model for those who still serve it, and forgets it after a week', async () => {
    await changes.add({ id: 'a', routes });
    await changes.remove('a');
    expect(stored().get('a')).toMatchObject({ value: { id: 'a' }, removedAt: 1_000 });
    await expect(changes.remove('a')).rejects.toMatchObject({ kind: 'unknown' });
    store.clock += 8 * 86_400_000;
    await changes.add({ id: 'b', routes });
    expect([...stored().keys()]).toEqual(['b']);
  });

  it('adds one again that was removed', async () => {
    await changes.add({ id: 'a', routes });
    await changes.remove('a');
    await changes.add({ id: 'a', routes });
    expect(stored().get('a')?.removedAt).toBeUndefined();
  });

  it('loses none that somebody else makes meanwhile', async () => {
    store.beforeChange = () => {
      store.put('models', { ...ofFile, id: 'b' });
    };
    await changes.add({ id: 'a', routes });
    expect([...stored().keys()].toSorted()).toEqual(['a', 'b']);
  });

  it.each([
    [{ id: 'filed', routes }, 'of_file', 'id'],
    [{ id: 'a b', routes }, 'invalid', 'id'],
    [{ id: 'a' }, 'invalid', 'routes'],
    [{ id: 'a', routes: [] }, 'invalid', 'routes'],
    [{ id: 'a', routes: [{ provider: 'nope' }] }, 'invalid', 'routes.0.provider'],
    [{ id: 'a', routes, queue: 'shared', concurrency: 5 }, 'invalid', 'concurrency'],
    [{ id: 'a', routes, concurency: 5 }, 'invalid', 'concurency'],
    [{ id: 'a', routes, contextTokens: 10, maxOutputTokens: 11 }, 'invalid', 'maxOutputTokens'],
  ] as const)('refuses %j, and changes nothing', async (wanted, kind, path) => {
    const refusal = await changes.add(wanted).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: 'StoredRefusal', kind });
    expect(
      (refusal as { problems: { path: PropertyKey[] }[] }).problems.map((each) => each.path.join('.')),
    ).toContain(path);
    expect(store.hashes.models.entries.size).toBe(0);
  });

  it('refuses another id, and one that is stored already', async () => {
    await changes.add({ id: 'a', routes });
    await expect(changes.add({ id: 'a', routes })).rejects.toMatchObject({ kind: 'exists' });
    await expect(changes.change('a', { id: 'b' })).rejects.toMatchObject({ kind: 'invalid' });
    await expect(changes.change('b', { concurrency: 1 })).rejects.toMatchObject({ kind: 'unknown' });
  });

  it('removes one with its queue drained alone where no other model has something there', async () => {
    await changes.add({ id: 'a', routes, queue: 'ours' });
    await changes.add({ id: 'b', routes, queue: 'ours' });
    await changes.add({ id: 'c', routes, queue: 'shared' });
    const refused = { kind: 'shared', problems: [{ path: ['queue'] }] };
    const alone = { aloneAmong: [ofFile] };
    await expect(changes.remove('a', alone)).rejects.toMatchObject(refused);
    // Whether it is offered does not matter: here its provider has left the file.
    file = { models: [{ ...ofFile, routes: [{ provider: 'two', model: 'x' }] }], providers: [] };
    await expect(changes.remove('c', alone)).rejects.toMatchObject(refused);
    expect([...stored().values()].some(({ removedAt }) => removedAt !== undefined)).toBe(false);
    await changes.remove('b');
    // What waits for the removed one is still to be served.
    await expect(changes.remove('a', alone)).rejects.toMatchObject(refused);
    store.clock += 362_001;
    expect(await changes.remove('a', alone)).toMatchObject({ id: 'a', queue: 'ours' });
  });

  it('refuses the name of the field that holds the version', async () => {
    await expect(changes.add({ id: 'version', routes })).rejects.toMatchObject({ kind: 'invalid' });
    expect(store.hashes.models.version).toBeUndefined();
  });

  it('changes a member though the file has changed the concurrency of the queue since', async () => {
    await changes.add({ id: 'a', routes, queue: 'shared' });
    file = { ...file, models: [{ ...ofFile, concurrency: 9 }] };
    expect(await changes.change('a', { contextTokens: 100 })).toMatchObject({
      contextTokens: 100,
      concurrency: 9,
    });
  });
});
