import type { ModelSettings } from '@sluice/config';
import { createLogger } from '@sluice/runtime';
import { expect, it } from 'vitest';
import { liveModels, simulator } from '../../test/settings-of-models.ts';
import type { StoredSnapshot } from './stored-settings.ts';
import { StoredWatch } from './stored-watch.ts';

const model = (id: string): ModelSettings => ({ id, queue: id, routes: [{ provider: 'one', model: id }] });

function snapshotOf(version: string | undefined, ...models: ModelSettings[]): StoredSnapshot {
  const entries = new Map(models.map((each) => [each.id, JSON.stringify({ model: each, changedAt: 1 })]));
  return { version, models: { version, entries }, providers: { version: undefined, entries: new Map() } };
}

function aWatch() {
  const live = liveModels({ models: [model('a')], providers: [simulator('one')] });
  let now: StoredSnapshot | Error = snapshotOf(undefined);
  const answer = () => (now instanceof Error ? Promise.reject(now) : Promise.resolve(now));
  const store = { read: answer, version: async () => (await answer()).version };
  const watch = new StoredWatch({
    store,
    live,
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  const offeredWith = async (next: StoredSnapshot | Error) => {
    now = next;
    await watch.look().catch(() => undefined);
    return live.models.map(({ id }) => id);
  };
  return { offeredWith };
}

it('models stay as they are known while Redis is away, and when it was emptied', async () => {
  const { offeredWith } = aWatch();
  expect(await offeredWith(snapshotOf(undefined))).toEqual(['a']);
  expect(await offeredWith(snapshotOf('1', model('b'), model('c')))).toEqual(['a', 'b', 'c']);
  expect(await offeredWith(new Error('Connection is closed.'))).toEqual(['a', 'b', 'c']);
  expect(await offeredWith(snapshotOf(undefined))).toEqual(['a', 'b', 'c']);
});

it('models that an emptied store has lost go with the first change behind that', async () => {
  const { offeredWith } = aWatch();
  await offeredWith(snapshotOf('1', model('b')));
  await offeredWith(snapshotOf(undefined));
  expect(await offeredWith(snapshotOf('2', model('c')))).toEqual(['a', 'c']);
});
