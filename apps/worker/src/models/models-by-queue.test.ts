import { describe, expect, it } from 'vitest';
import { allBlockedMs, modelsByQueue } from './models-by-queue.ts';

describe('models by queue', () => {
  it('have their queues under the names that jobs have, and those of each provider', () => {
    const { models, queues } = modelsByQueue({
      models: [
        { id: 'a', queue: 'org/a', routes: [{ provider: 'one', model: 'a' }] },
        { id: 'b', queue: 'b', routes: [{ provider: 'two', model: 'b' }] },
        {
          ...{ id: 'c', queue: 'org/a' },
          routes: [
            { provider: 'one', model: 'c' },
            { provider: 'two', model: 'c' },
          ],
        },
      ],
    });
    expect(models).toEqual(
      new Map([
        ['org%2Fa', ['a', 'c']],
        ['b', ['b']],
      ]),
    );
    expect(queues).toEqual(
      new Map([
        ['one', new Set(['org%2Fa'])],
        ['two', new Set(['b', 'org%2Fa'])],
      ]),
    );
  });
});

describe('the wait of a queue', () => {
  const models = Array.from({ length: 100 }, (_, at) => `m${at}`);

  it('is that of the model that takes calls first', () => {
    expect(allBlockedMs(models, (model) => (model === 'm40' ? 300 : 500))).toBe(300);
    expect(allBlockedMs([], () => 1)).toBe(0);
  });

  it('asks no model behind the first that takes calls', () => {
    const asked: string[] = [];
    const waitMs = allBlockedMs(models, (model) => {
      asked.push(model);
      return model === 'm2' ? 0 : 500;
    });
    expect(waitMs).toBe(0);
    expect(asked).toEqual(['m0', 'm1', 'm2']);
  });
});
