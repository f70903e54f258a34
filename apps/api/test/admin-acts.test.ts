import { newResponseId } from '@sluice/contract';
import type { Act, ResponseFilter } from '@sluice/contract/admin';
import type { MatchingResponses } from '@sluice/operator';
import { queueName } from '@sluice/queue';
import { isNeverSent, randomBytes } from '@sluice/runtime';
import { eventually, latch, startRedisProxy, testRedis } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startableTestApi } from './kept-api.ts';
import { startable } from './startable.ts';
import { apiKeys, model, type TestApiOptions } from './test-api.ts';
import { operatorOf, startTestAdmin } from './test-admin.ts';

const api = startableTestApi();
const admin = startable(() => startTestAdmin(api, { matching: index }));
let index: FakeIndex;

/** In place of the journal: matches what a test says. */
class FakeIndex implements MatchingResponses {
  isKept = true;
  matching: string[] = [];
  asked: ResponseFilter[] = [];
  batch = 3;
  /** Called before each batch. */
  before: (at: number) => Promise<void> = () => Promise.resolve();

  count(filter: ResponseFilter): Promise<number> {
    this.asked.push(filter);
    return Promise.resolve(this.matching.length);
  }

  async *ids(filter: ResponseFilter): AsyncGenerator<string[]> {
    this.asked.push(filter);
    for (let at = 0; at < this.matching.length; at += this.batch) {
      await this.before(at);
      yield this.matching.slice(at, at + this.batch);
    }
  }
}

async function start(options: TestApiOptions = { withoutWorker: true }): Promise<void> {
  await admin.stop();
  await api.start(options);
  index = new FakeIndex();
  await admin.start();
}
beforeEach(() => start());
afterEach(() => admin.stop());

async function waiting(count: number, key = apiKeys.first): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const { json } = await api.create({ model, input: 'Hi', background: true }, { key });
    ids.push(String(json()['id']));
  }
  return ids;
}

const cancelAll = (expected: number, filter: ResponseFilter = { status: ['queued'] }) =>
  admin.post('/acts', { action: 'cancel', filter, expected });
const statusesOf = (ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await api.store.read(id))?.status));

describe('an act on many responses', () => {
  it('cancels all that match, and says how far it is', async () => {
    index.matching = await waiting(20);
    const begun = await cancelAll(20);
    expect(begun).toMatchObject({
      status: 200,
      body: { object: 'act', action: 'cancel', state: 'running', total: 20, target: '{"status":["queued"]}' },
    });
    const act = await admin.ended(begun.body['id']);
    expect(act).toMatchObject({ state: 'done', total: 20, done: 20, skipped: 0, failed: 0, error: null });
    expect(act.ended_at).toBeGreaterThanOrEqual(act.started_at);
    expect(new Set(await statusesOf(index.matching))).toEqual(new Set(['cancelled']));
    expect(await api.queue.counts(model)).toMatchObject({ waiting: 0 });
    expect((await admin.ask('/acts')).body['data']).toEqual([act]);
    expect(await admin.audit()).toMatchObject([
      {
        action: 'responses.cancel',
        outcome: 'done',
        detail: `${act.id} done: 20 done, 0 skipped, 0 failed`,
      },
      { action: 'responses.cancel', outcome: 'asked', target: '{"status":["queued"]}' },
    ]);
  });

  it('does nothing when more match than were confirmed', async () => {
    index.matching = await waiting(3);
    expect(await cancelAll(2)).toMatchObject({
      status: 409,
      body: {
        error: { code: 'more_than_expected', param: 'expected', message: expect.stringMatching(/^3 .* 2 /) },
      },
    });
    expect(new Set(await statusesOf(index.matching))).toEqual(new Set(['queued']));
    expect((await admin.ask('/acts')).body['data']).toEqual([]);
    expect(await admin.audit()).toMatchObject([{ outcome: 'refused' }, { outcome: 'asked' }]);
  });

  it('never does more than was confirmed, nor one twice, whatever the index says later', async () => {
    const ids = await waiting(10);
    index.matching = ids.slice(0, 4);
    index.before = (at) => {
      if (at === 0) index.matching = [...ids.slice(0, 4), ...ids];
      return Promise.resolve();
    };
    const { body } = await cancelAll(5);
    expect(await admin.ended(body['id'])).toMatchObject({ state: 'done', done: 5 });
    const statuses = await statusesOf(ids);
    expect(statuses.filter((status) => status === 'cancelled')).toHaveLength(5);
  });

  it('looks at nothing that is accepted after it began', async () => {
    const before = api.now();
    const { body } = await cancelAll(0, { to: before + 3_600_000 });
    await admin.ended(body['id']);
    for (const { to } of index.asked) {
      expect(to).toBeGreaterThanOrEqual(before);
      expect(to).toBeLessThanOrEqual(api.now());
    }
    expect(index.asked).toHaveLength(2);
    const { body: earlier } = await cancelAll(0, { to: 5 });
    await admin.ended(earlier['id']);
    expect(index.asked.at(-1)?.to).toBe(5);
  });

  it('passes over what is over by now, gone, or none', async () => {
    const [one = '', other = ''] = await waiting(2);
    await admin.post(`/responses/${one}/cancel`);
    await api.store.erase(other, 'first');
    index.matching = [one, other, 'not-an-id'];
    const { body } = await cancelAll(3);
    expect(await admin.ended(body['id'])).toMatchObject({ state: 'done', done: 0, skipped: 3 });
  });

  it('is one at a time over all processes, and any of them can say how far it is and stop it', async () => {
    // Most of them are unknown, so that there is time to stop it.
    index.matching = [
      ...(await waiting(3)),
      ...Array.from({ length: 100_000 }, () => newResponseId(randomBytes)),
    ];
    const other = await startTestAdmin(api, { matching: new FakeIndex() });
    try {
      const { body } = await cancelAll(200_000);
      const refused = await other.post('/acts', { action: 'retry', filter: {}, expected: 1 });
      expect(refused).toMatchObject({ status: 409, body: { error: { code: 'act_under_way' } } });
      expect(await other.post('/queues/m/drain')).toMatchObject({ status: 409 });
      expect(await other.post('/models/gone/remove', { queue: 'drain' })).toMatchObject({ status: 409 });
      await eventually(async () => (await other.ask(`/acts/${String(body['id'])}`)).body['done'] === 3);
      expect(await other.post(`/acts/${String(body['id'])}/stop`)).toMatchObject({ status: 200 });
      const act = await other.ended(body['id']);
      expect(act).toMatchObject({ state: 'stopped', done: 3, total: 100_003 });
      expect(act.skipped).toBeLessThan(100_000);
      const again = await other.post('/acts', { action: 'cancel', filter: {}, expected: 1 });
      expect(again.status).toBe(200);
      await other.ended(again.body['id']);
    } finally {
      await other.stop();
    }
  });

  it('is interrupted when its process is told to stop', async () => {
    index.matching = await waiting(10);
    const gate = latch();
    index.before = (at) => (at === 0 ? Promise.resolve() : gate.wait());
    const { body } = await cancelAll(10);
    await eventually(async () => (await admin.ask(`/acts/${String(body['id'])}`)).body['done'] === 3);
    const stopped = admin.operator.acts.stop();
    gate.open();
    await stopped;
    expect((await admin.ask(`/acts/${String(body['id'])}`)).body).toMatchObject({
      state: 'interrupted',
      done: 3,
      ended_at: expect.any(Number),
    });
    expect(await cancelAll(10)).toMatchObject({ status: 503 });
    // The audit log has its outcome all the same.
    expect((await admin.audit())[2]).toMatchObject({
      outcome: 'done',
      detail: expect.stringContaining('interrupted'),
    });
  });

  it('is interrupted when its process dies, and makes room for the next one', async () => {
    const other = operatorOf(api, { leaseMs: 100, reportEveryMs: 3_600_000 });
    const gate = latch();
    const asked = { action: 'responses.cancel', target: '{}', address: '' };
    const { id } = await other.acts.start(asked, () =>
      Promise.resolve({
        action: 'cancel',
        target: '{}',
        total: 1,
        async *ids() {
          await gate.wait();
          yield [];
        },
        each: () => Promise.resolve(true),
      }),
    );
    expect(await admin.ended(id)).toMatchObject({ state: 'interrupted' });
    expect((await cancelAll(0)).status).toBe(200);
    gate.open();
    await other.acts.stop();
  });

  it.each([
    'act_0',
    'x',
    '%00',
    `act_${'0'.repeat(32)}`,
    `act_${'0'.repeat(5_000)}`,
    'act_../../x',
    '__proto__',
  ])('is not found by the id %s', async (id) => {
    const path = `/acts/${encodeURIComponent(id)}`;
    expect(await admin.ask(path)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    expect(await admin.post(`${path}/stop`)).toMatchObject({ status: 404 });
  });

  it('needs the journal', async () => {
    index.isKept = false;
    expect(await cancelAll(1)).toMatchObject({
      status: 403,
      body: { error: { code: 'actions_off', message: expect.stringContaining('journal') } },
    });
  });

  it('fails when the index does', async () => {
    index.matching = await waiting(1);
    index.before = () => Promise.reject(new Error('the index broke'));
    const { body } = await cancelAll(1);
    expect(await admin.ended(body['id'])).toMatchObject({ state: 'failed', error: 'server_error' });
    expect((await admin.audit())[0]).toMatchObject({ outcome: 'failed' });
  });
});

describe('retrying many', () => {
  it('retries those that have ended, and says what refused the others', async () => {
    await start({});
    const ended: string[] = [];
    for (const key of [apiKeys.first, apiKeys.second, apiKeys.limited, apiKeys.limited]) {
      ended.push(String((await api.create({ model, input: 'Hi' }, { key })).json()['id']));
    }
    index.matching = ended;
    const { body } = await admin.post('/acts', { action: 'retry', filter: {}, expected: 4 });
    expect(await admin.ended(body['id'])).toMatchObject({
      state: 'done',
      done: 2,
      failed: 2,
      error: '2 rate_limit_exceeded',
    });
    await eventually(() => api.worker.runs.length === 6);
  });
});

describe('draining a queue', () => {
  it('cancels all that waits in it, and nothing else', async () => {
    const ids = await waiting(30);
    const { json } = await api.create({ model: 'other', input: 'Hi', background: true });
    const begun = await admin.post('/queues/m/drain');
    expect(begun).toMatchObject({ status: 200, body: { action: 'drain', target: 'm', total: 30 } });
    expect(await admin.ended(begun.body['id'])).toMatchObject({ state: 'done', done: 30, failed: 0 });
    expect(new Set(await statusesOf(ids))).toEqual(new Set(['cancelled']));
    expect(await statusesOf([String(json()['id'])])).toEqual(['queued']);
    expect(await api.queue.counts(model)).toMatchObject({ waiting: 0, delayed: 0 });
  });

  it('cancels also what waits for a place of its tenant', async () => {
    const ids = await waiting(5, apiKeys.crowded);
    expect((await api.queue.counts(model)).delayed).toBeGreaterThan(0);
    const { body } = await admin.post('/queues/m/drain');
    expect(await admin.ended(body['id'])).toMatchObject({ state: 'done' });
    expect(new Set(await statusesOf(ids))).toEqual(new Set(['cancelled']));
  });
});

describe('a queue', () => {
  it('is paused and resumed by its name in the settings', async () => {
    for (const queue of ['m', 'vendor/model']) {
      const path = `/queues/${encodeURIComponent(queue)}`;
      for (let at = 0; at < 2; at += 1) {
        expect((await admin.post(`${path}/pause`)).body).toEqual({ object: 'queue', queue, paused: true });
      }
      expect((await api.queue.backlog(queueName(queue))).isPaused).toBe(true);
      expect((await admin.post(`${path}/resume`)).body).toEqual({ object: 'queue', queue, paused: false });
      expect((await api.queue.backlog(queueName(queue))).isPaused).toBe(false);
    }
  });

  it.each([
    ['othr', 'did you mean "other"?'],
    ['nothing-like-it', 'known are m, other'],
    ['%00', 'There is no queue'],
    ['q'.repeat(3_000), 'known are'],
  ])('that there is not is not found: %s', async (queue, hint) => {
    for (const verb of ['pause', 'resume', 'drain']) {
      expect(await admin.post(`/queues/${queue}/${verb}`)).toMatchObject({
        status: 404,
        body: { error: { code: 'not_found', param: 'queue', message: expect.stringContaining(hint) } },
      });
    }
  });
});

describe('while Redis is silent', () => {
  it('waits with an act on many, and goes on', async () => {
    const redis = await testRedis();
    const proxy = await startRedisProxy(redis.url);
    await redis.close();
    await start({ withoutWorker: true, commandsUrl: proxy.url });
    index.matching = await waiting(30);
    const gate = latch();
    index.before = async (at) => {
      if (at === 6) {
        proxy.silence();
        gate.open();
      }
    };
    const { body } = await cancelAll(30);
    await gate.wait();
    // From here on the act is told that Redis is silent, without waiting for it.
    await eventually(async () => isNeverSent(await api.commands.ping().catch((error: unknown) => error)));
    proxy.speak();
    const act = await admin.ended(body['id']);
    expect(act).toMatchObject({ state: 'done', failed: 0 } satisfies Partial<Act>);
    expect(act.done + act.skipped).toBe(30);
    await eventually(async () =>
      expect(new Set(await statusesOf(index.matching))).toEqual(new Set(['cancelled'])),
    );
    await admin.stop();
    await api.stop();
    await proxy.stop();
  });
});
