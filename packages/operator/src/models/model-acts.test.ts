import { StoredRefusal, type ModelSettings } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import { expect, it } from 'vitest';
import { ModelActs, type ModelActsOptions } from './model-acts.ts';

const filed: ModelSettings = {
  id: 'filed',
  queue: 'shared',
  routes: [{ provider: 'one', model: 'x' }],
};

const unused = () => Promise.reject(new Error('nobody calls it'));
const asker = { address: '127.0.0.1' };

/** Acts on a stored model that can be removed, and what they have done. */
function modelActs(options: Partial<ModelActsOptions> = {}) {
  const done: string[] = [];
  const acts = new ModelActs({
    models: { models: [], served: [filed], providers: [], originOf: () => 'file', unusable: [] },
    modelChanges: {
      add: unused,
      change: unused,
      remove: (id) => {
        done.push(`removed ${id}`);
        return Promise.resolve({ ...filed, id, queue: 'own' });
      },
    },
    queue: { backlog: unused },
    queues: {
      drain: (queue) => {
        done.push(`drained ${queue}`);
        return Promise.reject(new ServiceError('act_under_way'));
      },
    },
    acts: { requireNone: () => Promise.resolve() },
    audit: { perform: (_about, step) => step() },
    ...options,
  });
  return { acts, done };
}

it('a removal that is refused because others share the queue drains nothing, and names the field', async () => {
  const asked: unknown[] = [];
  const { acts, done } = modelActs({
    modelChanges: {
      add: unused,
      change: unused,
      remove: (id, options) => {
        asked.push([id, options]);
        return Promise.reject(new StoredRefusal('shared', [{ path: ['queue'], message: 'is shared' }]));
      },
    },
  });
  const refusal = acts.remove('lost', { queue: 'drain' }, asker);
  await expect(refusal).rejects.toMatchObject({ code: 'invalid_value', param: 'queue' });
  expect(asked).toEqual([['lost', { aloneAmong: [filed] }]]);
  expect(done).toEqual([]);
});

it('a removal that is to drain a queue removes nothing while another act is under way', async () => {
  const busy = () => Promise.reject(new ServiceError('act_under_way'));
  const { acts, done } = modelActs({ acts: { requireNone: busy } });
  await expect(acts.remove('lost', { queue: 'drain' }, asker)).rejects.toMatchObject({
    code: 'act_under_way',
  });
  expect(done).toEqual([]);
  expect(await acts.remove('lost', { queue: 'keep' }, asker)).toEqual({
    object: 'removed_model',
    id: 'lost',
    act: null,
    error: null,
  });
});

it('a removal whose queue is not drained after all says that the model is gone, and why', async () => {
  const { acts, done } = modelActs();
  expect(await acts.remove('lost', { queue: 'drain' }, asker)).toEqual({
    object: 'removed_model',
    id: 'lost',
    act: null,
    error: 'act_under_way',
  });
  expect(done).toEqual(['removed lost', 'drained own']);
});
