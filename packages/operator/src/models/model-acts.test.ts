import { StoredRefusal, type ModelSettings } from '@sluice/config';
import { expect, it } from 'vitest';
import { ModelActs, type ModelActsOptions } from './model-acts.ts';

const filed: ModelSettings = {
  id: 'filed',
  queue: 'shared',
  routes: [{ provider: 'one', model: 'x' }],
};

it('a removal that is refused because others share the queue drains nothing, and names the field', async () => {
  const drained: string[] = [];
  const asked: unknown[] = [];
  const unused = () => Promise.reject(new Error('nobody calls it'));
  const acts = new ModelActs({
    models: { models: [], served: [filed], providers: [], originOf: () => 'file', unusable: [] },
    modelChanges: {
      add: unused,
      change: unused,
      remove: (id, options) => {
        asked.push([id, options]);
        return Promise.reject(new StoredRefusal('shared', [{ path: ['queue'], message: 'is shared' }]));
      },
    },
    queue: { backlog: unused },
    queues: {
      drain: (queue) => {
        drained.push(queue);
        return unused();
      },
    },
    audit: { perform: (_about, step) => step() },
  } satisfies ModelActsOptions);
  const refusal = acts.remove('lost', { queue: 'drain' }, { address: '127.0.0.1' });
  await expect(refusal).rejects.toMatchObject({ code: 'invalid_value', param: 'queue' });
  expect(asked).toEqual([['lost', { aloneAmong: [filed] }]]);
  expect(drained).toEqual([]);
});
