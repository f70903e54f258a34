import type { ModelSettings, ProviderSettings } from '@sluice/config';
import { costAgainstParsing } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { liveModels, simulator } from '../../test/settings-of-models.ts';
import { usableModels } from './stored-models.ts';
import { parseStored, type StoredEntry } from './stored-settings.ts';

const providers: ProviderSettings[] = [simulator('one'), simulator('two')];
const model = (id: string, more: Partial<ModelSettings> = {}): ModelSettings => ({
  id,
  queue: id,
  routes: [{ provider: 'one', model: id }],
  ...more,
});
const storedOf = (...models: ModelSettings[]) =>
  new Map(
    models.map((each): [string, StoredEntry<ModelSettings>] => [each.id, { value: each, changedAt: 1 }]),
  );
const idsOf = (models: readonly ModelSettings[]) => models.map(({ id }) => id);

describe('stored models', () => {
  it('are offered beside those of the file, which win', () => {
    const file = { models: [model('a')], providers };
    const { models, unusable } = usableModels(storedOf(model('a'), model('b')), file);
    expect(idsOf(models)).toEqual(['b']);
    expect(unusable).toEqual([
      { id: 'a', problem: 'the settings file names a model of this id, which wins' },
    ]);
  });

  it('are not offered when the file has lost their provider', () => {
    const file = { models: [], providers: providers.slice(1) };
    const { models, unusable } = usableModels(storedOf(model('b')), file);
    expect(models).toEqual([]);
    expect(unusable).toEqual([
      { id: 'b', problem: 'routes.0.provider "one" is not the id of a provider; known are two' },
    ]);
  });

  it('have the concurrency of the queue that they share', () => {
    const file = { models: [model('a', { concurrency: 4 })], providers };
    const { models } = usableModels(storedOf(model('b', { queue: 'a', concurrency: 9 })), file);
    expect(models).toMatchObject([{ id: 'b', queue: 'a', concurrency: 4 }]);
  });

  it('have the concurrency of the first stored one of their queue', () => {
    const file = { models: [], providers };
    const stored = storedOf(
      model('b', { queue: 'q', concurrency: 4 }),
      model('c', { queue: 'q', concurrency: 9 }),
    );
    expect(usableModels(stored, file).models).toMatchObject([
      { id: 'b', concurrency: 4 },
      { id: 'c', concurrency: 4 },
    ]);
  });

  it('are each looked at once, however many there are', () => {
    const models = Array.from({ length: 10_000 }, (_, at) => model(`m${at}`));
    const file = { models: [model('a')], providers };
    const stored = storedOf(...models);
    expect(costAgainstParsing(models, () => () => usableModels(stored, file))).toBeLessThan(60);
  });

  it('are read as far as this release knows them', () => {
    const good = JSON.stringify({ model: model('a'), changedAt: 1 });
    const entries = new Map([
      ['a', good],
      ['b', '{'],
      ['c', '{"model":null}'],
      ['d', good],
    ]);
    expect([...parseStored('models', { entries }).keys()]).toEqual(['a']);
  });
});

describe('live models', () => {
  const aLive = () => liveModels({ models: [model('a')], providers });

  it('serve a stored model that was removed, also in a process that starts behind that', () => {
    const running = aLive();
    running.takeStored({ models: storedOf(model('b')) });
    expect([idsOf(running.models), running.originOf('b')]).toEqual([['a', 'b'], 'stored']);
    const removed = new Map([['b', { value: model('b'), changedAt: 2, removedAt: 2 }]]);
    running.takeStored({ models: removed });
    const started = aLive();
    started.takeStored({ models: removed });
    for (const live of [running, started]) {
      expect(idsOf(live.models)).toEqual(['a']);
      expect(live.serves('b')).toBe(true);
      expect(live.queueNames).toContain('b');
    }
  });

  it('serve a model that was added and removed again between two looks', () => {
    const live = aLive();
    const removed = { value: model('b', { queue: 'old' }), changedAt: 2, removedAt: 2 };
    const active: StoredEntry<ModelSettings> = { value: model('c'), changedAt: 2 };
    live.takeStored({
      models: new Map([
        ['b', removed],
        ['c', active],
      ]),
    });
    live.takeStored({
      models: new Map([
        ['b', { ...removed, value: model('b', { queue: 'new' }), removedAt: 3 }],
        ['c', active],
      ]),
    });
    expect(live.served.find(({ id }) => id === 'b')).toMatchObject({ queue: 'new' });
    expect(live.queueNames).toEqual(expect.arrayContaining(['new', 'old']));
  });

  it('let a change of the file take a stored model away, and give it back', () => {
    const live = aLive();
    live.takeStored({ models: storedOf(model('b')) });
    live.replace({
      models: [model('a', { routes: [{ provider: 'two', model: 'a' }] })],
      providers: providers.slice(1),
    });
    expect([idsOf(live.models), live.unusable.map(({ id }) => id)]).toEqual([['a'], ['b']]);
    live.replace({ models: [model('a')], providers });
    expect([idsOf(live.models), live.unusable]).toEqual([['a', 'b'], []]);
  });
});
