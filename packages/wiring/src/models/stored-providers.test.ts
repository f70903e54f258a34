import type { ModelSettings, StoredProvider } from '@sluice/config';
import { expect, it } from 'vitest';
import { liveModels, simulator } from '../../test/settings-of-models.ts';
import type { StoredEntry } from './stored-settings.ts';

const house: StoredProvider = {
  id: 'house',
  type: 'openai-chat',
  baseUrl: 'http://10.0.0.1/v1',
  apiKeyVariable: 'UPSTREAM_HOUSE',
};
const model: ModelSettings = {
  id: 'night',
  queue: 'night',
  routes: [{ provider: 'house', model: 'x' }],
};
const ofFile = { models: [], providers: [simulator('filed')] };
const stored = <Value extends { id: string }>(value: Value, removedAt?: number) =>
  new Map<string, StoredEntry<Value>>([
    [value.id, { value, changedAt: 1, ...(removedAt !== undefined && { removedAt }) }],
  ]);

const aLive = () => liveModels({ ...ofFile, upstreamKeys: { UPSTREAM_HOUSE: 'sk-1' } });

const idsOf = (list: readonly { id: string }[]) => list.map(({ id }) => id);

it('a stored provider is in effect with the key of this process, and so are stored models on it', () => {
  const live = aLive();
  live.takeStored({ models: stored(model) });
  expect([idsOf(live.models), idsOf(live.unusable)]).toEqual([[], ['night']]);
  live.takeStored({ providers: stored(house) });
  expect([idsOf(live.models), idsOf(live.providers)]).toEqual([['night'], ['filed', 'house']]);
  expect(live.providers[1]).toMatchObject({ apiKey: 'sk-1' });
  expect(live.storedProvider('house')).toEqual(house);
});

it('a provider of the file wins over a stored one with its id, which says so', () => {
  const live = aLive();
  live.takeStored({ providers: stored(house), models: stored(model) });
  const [filed = expect.unreachable()] = ofFile.providers;
  live.replace({ models: [], providers: [{ ...filed, id: 'house' }] });
  expect(live.providers).toMatchObject([{ id: 'house', type: 'simulator' }]);
  expect(live.unusableProviders).toEqual([
    { id: 'house', problem: 'the settings file names a provider of this id, which wins' },
  ]);
  expect([idsOf(live.models), live.storedProvider('house')]).toEqual([['night'], undefined]);
});

it('a stored provider that this release cannot read is not in effect, and says why', () => {
  const live = aLive();
  live.takeStored({ providers: stored({ ...house, apiKeyVariable: 'ADMIN_TOKEN' }) });
  expect(idsOf(live.providers)).toEqual(['filed']);
  expect(live.unusableProviders).toMatchObject([
    { id: 'house', problem: expect.stringContaining('apiKeyVariable must be') },
  ]);
});

it('a removed model is served at its removed provider, also by a process that starts behind both', () => {
  const running = aLive();
  running.takeStored({ providers: stored(house), models: stored(model) });
  const removed = { providers: stored(house, 3), models: stored(model, 2) };
  running.takeStored(removed);
  const started = aLive();
  started.takeStored(removed);
  for (const live of [running, started]) {
    expect([idsOf(live.models), idsOf(live.providers)]).toEqual([[], ['filed']]);
    expect(live.serves('night')).toBe(true);
    expect(live.servedProviders.at(-1)).toMatchObject({ id: 'house', apiKey: 'sk-1' });
  }
});
