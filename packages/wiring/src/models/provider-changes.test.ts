import { beforeEach, describe, expect, it } from 'vitest';
import { FakeModelStore } from '../../test/fake-model-store.ts';
import { simulator } from '../../test/settings-of-models.ts';
import { ModelChanges } from './model-changes.ts';
import { ProviderChanges } from './provider-changes.ts';
import { parseStored } from './stored-settings.ts';

const filed = simulator('filed');
const house = { id: 'house', type: 'openai-chat', baseUrl: 'http://10.0.0.1/v1' };
let store: FakeModelStore;
let changes: ProviderChanges;
let models: ModelChanges;

beforeEach(() => {
  store = new FakeModelStore();
  const options = {
    store,
    file: () => ({ models: [], providers: [filed] }),
    timeouts: { queueMs: 1_000, backgroundQueueMs: 60_000, totalMs: 1_000 },
  };
  changes = new ProviderChanges(options);
  models = new ModelChanges(options);
});

const stored = () => parseStored('providers', store.hashes.providers);
const modelTo = (provider: string, id = 'm') => ({ id, routes: [{ provider }] });

describe('a change of stored providers', () => {
  it('adds one as it was given, changes what is given, and takes away what is null', async () => {
    expect(await changes.add({ ...house, apiKeyVariable: 'UPSTREAM_HOUSE' })).toEqual({
      ...house,
      apiKeyVariable: 'UPSTREAM_HOUSE',
    });
    const changed = await changes.change('house', { apiKeyVariable: null, baseUrl: 'http://10.0.0.2/v1' });
    expect(changed).toEqual({ ...house, baseUrl: 'http://10.0.0.2/v1' });
    expect(stored().get('house')?.value).toEqual(changed);
  });

  it('lets a stored model have a route to it, and is refused its removal while one has', async () => {
    await expect(models.add(modelTo('house'))).rejects.toMatchObject({ kind: 'invalid' });
    await changes.add(house);
    await models.add(modelTo('house', 'a'));
    await models.add(modelTo('house', 'b'));
    await models.add(modelTo('filed', 'c'));
    await expect(changes.remove('house')).rejects.toMatchObject({
      kind: 'in_use',
      problems: [{ path: ['id'], message: expect.stringContaining('routes to it: "a" and "b"; change') }],
    });
    await models.remove('a');
    await models.change('b', { routes: [{ provider: 'filed' }] });
    expect(await changes.remove('house')).toEqual(house);
    expect(stored().get('house')).toMatchObject({ removedAt: store.clock });
  });

  it('is not removed when somebody adds a model on it meanwhile', async () => {
    await changes.add(house);
    store.beforeChange = () => store.put('models', { ...modelTo('house'), id: 'm' });
    await expect(changes.remove('house')).rejects.toMatchObject({ kind: 'in_use' });
    expect(stored().get('house')?.removedAt).toBeUndefined();
  });

  it('keeps a removed one for as long as a removed model', async () => {
    await changes.add(house);
    await changes.remove('house');
    store.clock += 6 * 86_400_000;
    await changes.add({ ...house, id: 'other' });
    expect([...stored().keys()]).toEqual(['house', 'other']);
    store.clock += 2 * 86_400_000;
    await changes.add({ ...house, id: 'third' });
    expect([...stored().keys()]).toEqual(['other', 'third']);
  });

  it.each([
    [{ ...house, id: 'filed' }, 'of_file', 'id'],
    [{ ...house, id: 'version' }, 'invalid', 'id'],
    [{ ...house, apiKey: 'sk-1' }, 'invalid', 'apiKey'],
    [{ ...house, apiKeyVariable: 'REDIS_URL' }, 'invalid', 'apiKeyVariable'],
  ] as const)('refuses %j, and changes nothing', async (wanted, kind, path) => {
    await expect(changes.add(wanted)).rejects.toMatchObject({
      name: 'StoredRefusal',
      kind,
      problems: [{ path: [path] }],
    });
    expect(store.hashes.providers.entries.size).toBe(0);
  });

  it('refuses another id, another type, and one that is stored already', async () => {
    await changes.add(house);
    await expect(changes.add(house)).rejects.toMatchObject({ kind: 'exists' });
    await expect(changes.change('house', { id: 'b' })).rejects.toMatchObject({ kind: 'invalid' });
    await expect(changes.change('house', { type: 'simulator' })).rejects.toMatchObject({ kind: 'invalid' });
    await expect(changes.change('b', { discover: true })).rejects.toMatchObject({ kind: 'unknown' });
  });
});
