import { once } from 'node:events';
import { startThread } from '@sluice/runtime';
import { forAllTests, eventually, hasServer, startLocalRedis } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testService } from '../../service.ts';
import { runningAttempts } from '../../worker-metrics.ts';
import { type HostileLoad, hostileLoads, type Kind } from './hostile-loads.ts';
import { loadCallerOf } from './load-caller.ts';
import { type LoadOutcomes, type LoadResult, takeOutcomes } from './load-outcomes.ts';

const kinds: Kind[] = ['hostile', 'good'];

describe.skipIf(!hasServer)('one step of each load (needs a server on the PATH)', () => {
  const upstream = startThread(new URL('./load-upstream.ts', import.meta.url), {});
  let baseUrl: string;

  beforeAll(async () => {
    [baseUrl] = (await once(upstream, 'message')) as [string]; // all that it says
  });
  afterAll(() => upstream.terminate());
  const redis = forAllTests(() => startLocalRedis({ kind: 'server' }));
  const service = testService(() => ({
    redisUrl: redis.url,
    settings: {
      keys: [{ name: 'sender', key: 'sk-sender-0123456789abcdef' }],
      providers: [{ id: 'upstream', type: 'openai-chat', baseUrl }],
      models: ['fast', 'broken'].map((id) => ({ id, routes: [{ provider: 'upstream' }] })),
    },
  }));

  const isParking = ({ mechanism }: HostileLoad) => mechanism === 'parking';
  // The route is parked for half a minute by that load, so it comes last.
  const inOrder = [...hostileLoads.filter((load) => !isParking(load)), ...hostileLoads.filter(isParking)];
  const each = inOrder.flatMap((load) => kinds.map((kind) => ({ mechanism: load.mechanism, kind, load })));

  it.each(each)('comes to what is meant: $mechanism, $kind', async ({ kind, load }) => {
    const caller = loadCallerOf(service.apiUrls[0] ?? '', 'sk-sender-0123456789abcdef');
    expect(load.loads[kind].comesTo).toContain(await load.loads[kind].step(caller).catch(String));
    const workers = service.workers.map(({ healthUrl }) => healthUrl);
    await eventually(async () =>
      (await Promise.all(workers.map(runningAttempts))).every((count) => count === 0),
    );
  });
});

describe('what a load came to', () => {
  const load = { loads: { hostile: { comesTo: ['200', '429'] }, good: { comesTo: ['200'] } } };
  const judge = (outcomes: LoadOutcomes, kind: Kind, result: LoadResult) =>
    takeOutcomes(outcomes, load, kind, result);
  const none = (): LoadOutcomes => ({ mechanism: 'x', came: { hostile: new Map(), good: new Map() } });

  it('is added up, and no violation where it is meant', () => {
    const outcomes = none();
    expect(judge(outcomes, 'hostile', new Map([['200', 3]]))).toEqual([]);
    expect(
      judge(
        outcomes,
        'hostile',
        new Map([
          ['200', 2],
          ['429', 1],
        ]),
      ),
    ).toEqual([]);
    expect(judge(outcomes, 'good', new Map([['200', 4]]))).toEqual([]);
    expect(outcomes.came).toEqual({
      hostile: new Map([
        ['200', 5],
        ['429', 1],
      ]),
      good: new Map([['200', 4]]),
    });
  });

  it('is a violation where it is anything else, or nothing', () => {
    expect(
      judge(
        none(),
        'good',
        new Map([
          ['200', 1],
          ['400', 7],
        ]),
      ),
    ).toEqual(['x, good: 7 steps of the load came to: 400']);
    expect(judge(none(), 'good', new Map())).toEqual(['x, good: no step of the load was over']);
  });
});
