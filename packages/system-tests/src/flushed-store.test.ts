import { eventually, hasServer, type LocalRedis, startLocalRedis } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Service, startService } from './service.ts';

const actionToken = 'action-token-of-the-test';

let redis: LocalRedis;
let service: Service;
let direct: Redis;

beforeEach(async () => {
  redis = await startLocalRedis(hasServer ? { kind: 'server' } : {});
  direct = new Redis(redis.url);
  service = await startService({
    redisUrl: redis.url,
    apis: 2,
    workers: 2,
    env: { ADMIN_ACTION_TOKEN: actionToken },
    settings: {
      providers: [{ id: 'local', type: 'simulator', firstTokenMs: 0, tokensPerSecond: 0 }],
      models: [
        { id: 'simulator', routes: [{ provider: 'local' }] },
        { id: 'limited', concurrency: 1, routes: [{ provider: 'local' }] },
        { id: 'paused', routes: [{ provider: 'local' }] },
      ],
    },
  });
});
afterEach(async () => {
  direct?.disconnect();
  await service?.stop();
  await redis?.stop();
});

async function admin(path: string, method = 'GET') {
  const headers = { 'sluice-action-token': actionToken };
  const answer = await fetch(`${service.adminUrls[0]}/admin/v1${path}`, { method, headers });
  return (await answer.json()) as {
    data: { queue: string; paused: boolean; action: string; detail: string }[];
  };
}

const metaOf = (queue: string) => direct.hgetall(`${service.redis.prefix}:{0}:bull:${queue}:meta`);
const markOf = (role: string) => direct.get(`${service.redis.prefix}:{0}:store-mark:${role}`);

/** How often it was asked whether something is in a hash. */
async function looks(): Promise<number> {
  const [, calls] = /cmdstat_hexists:calls=(\d+)/.exec(await direct.info('commandstats')) ?? [];
  return Number(calls ?? 0);
}

it('a store that is emptied under a running service costs no 500, and neither a limit nor a pause', async () => {
  const { caller } = service;
  await admin('/queues/paused/pause', 'POST');
  expect(await metaOf('limited')).toMatchObject({ concurrency: '1' });
  // Those who wait when it happens: one that runs, and one that waits in the queue that is paused.
  const waiting = [
    caller.create({ model: 'simulator', input: 'Hi. [[sluice: tokens=100000, tokens_per_second=10]]' }),
    caller.create({ model: 'paused', input: 'Hi' }),
  ];
  await eventually(async () => (await direct.keys('*:response:*')).length === 2);
  const marks = await eventually(async () => {
    const found = [await markOf('api'), await markOf('worker')];
    return !found.includes(null) && found;
  });
  // Each api knows of a pause with its next look, which asks once for each queue. Scripts ask, too, when a job comes; none comes now.
  const before = await looks();
  await eventually(async () => (await looks()) >= before + 2 * 3 * 3);

  await direct.flushall();
  await direct.script('FLUSH');
  const answers = await Promise.all(waiting);
  expect(answers.map(({ status, headers }) => [status, headers.get('x-should-retry')])).toEqual([
    [503, 'false'],
    [503, 'false'],
  ]);
  // What comes next is served, by scripts that the server has forgotten.
  expect((await caller.create({ model: 'simulator', input: 'Hi' })).status).toBe(200);
  expect((await caller.create({ model: 'limited', input: 'Hi' })).status).toBe(200);
  await eventually(async () => (await metaOf('limited'))['concurrency'] === '1');
  const queues = await eventually(async () => {
    const { data } = await admin('/queues');
    return data.some(({ paused }) => paused) && data;
  });
  expect(queues.filter(({ paused }) => paused).map(({ queue }) => queue)).toEqual(['paused']);
  const audit = await eventually(async () => {
    const { data } = await admin('/audit');
    return data.length >= 2 && data;
  });
  expect(audit.filter(({ detail }) => detail !== null)).toMatchObject([
    { action: 'queue.pause', target: 'paused', detail: 'paused again: the store was emptied' },
  ]);
  expect([await markOf('api'), await markOf('worker')]).not.toEqual(marks);
  await admin('/queues/paused/resume', 'POST');
  expect((await caller.create({ model: 'paused', input: 'Hi' })).status).toBe(200);
});
