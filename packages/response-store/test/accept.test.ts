import { randomBytes } from 'node:crypto';
import {
  cancelled,
  completed,
  type CreateResponse,
  failed,
  failureBody,
  newResponseId,
  nothingProduced,
} from '@sluice/contract';
import { randomFrom, startRedisProxy } from '@sluice/testing';
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, inject, it } from 'vitest';
import { type AcceptResult, type CellKeys, responseOf } from '../src/index.ts';
import { storeForEachTest, toAccept } from './store-under-test.ts';

const store = storeForEachTest();
let redis: { client: Redis; connect: () => Redis };
let keys: CellKeys;

beforeEach(() => {
  redis = store.server;
  keys = store.keys;
});

const service = { queued: 1_000_000, queuedBytes: 1_000_000_000 };

function newId(): string {
  return newResponseId(randomBytes);
}

/** The time by the clock of the store, in milliseconds. */
async function storeNow(): Promise<number> {
  const [seconds, microseconds] = await redis.client.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

interface TakingIn extends Partial<Omit<Parameters<typeof toAccept>[0], 'request'>> {
  request?: Partial<CreateResponse>;
  /** The connection it goes over; that of the test by default. */
  by?: Redis;
}

function takeIn({ request, by = redis.client, ...rest }: TakingIn = {}): Promise<AcceptResult> {
  const whole: CreateResponse = {
    model: 'simulator',
    input: [{ type: 'message', role: 'user', content: 'hi' }],
    stream: true,
    background: true,
    ...request,
  };
  const accepting = toAccept({ id: newId(), request: whole, ...rest });
  return store.callerOver(by, { subscriber: redis.client }).accept(accepting);
}

const take = (responseId: string, token: string) => store.take(responseId, token);
const waiting = () => store.waiting();

async function ownKeys(): Promise<string[]> {
  return (await redis.client.keys(`${keys.prefix}*`)).toSorted();
}

/** Keys that would stay for ever once their response has ended, apart from those of the service as a whole. */
async function keysWithoutExpiry(): Promise<string[]> {
  const found = [];
  for (const key of await ownKeys()) {
    if (key !== keys.open && key !== keys.load && (await redis.client.pttl(key)) === -1) found.push(key);
  }
  return found;
}

describe('accept', () => {
  it('writes the record and the first events of a stream', async () => {
    const responseId = newId();
    const before = await storeNow();
    const result = await takeIn({ id: responseId, tier: 'flex', request: { temperature: 0.5 } });
    expect(result).toMatchObject({ kind: 'accepted', use: { requests: undefined, tokens: undefined } });
    const record = await store.caller.read(responseId);
    expect(record).toMatchObject({
      id: responseId,
      tenant: 'team-a',
      status: 'queued',
      serviceTier: 'flex',
      queue: 'simulator',
      streams: true,
      sequenceNumber: 1,
      isEnqueued: false,
      end: undefined,
      startedAt: undefined,
    });
    expect(record?.acceptedAt).toBeGreaterThanOrEqual(before);
    expect(result.kind === 'accepted' && result.acceptedAt).toBe(record?.acceptedAt);
    expect(record && responseOf(record)).toMatchObject({
      id: responseId,
      temperature: 0.5,
      service_tier: 'flex',
      status: 'queued',
    });
    expect(await store.caller.readEvents(responseId, -1, 10)).toEqual([
      { sequenceNumber: 0, json: '{"type":"response.created"}' },
      { sequenceNumber: 1, json: '{"type":"response.queued"}' },
    ]);
    expect(await store.field(responseId, 'version')).toBe('3');
    // Scored by when it has waited for as long as it may.
    const due = Number(await redis.client.zscore(keys.open, responseId));
    expect(due).toBe((record?.acceptedAt ?? 0) + 600_000);
  });

  it('writes no log of a response that is not streamed', async () => {
    const responseId = newId();
    await takeIn({ id: responseId, request: { stream: false } });
    expect(await redis.client.exists(keys.log(responseId))).toBe(0);
    expect(await store.caller.read(responseId)).toMatchObject({
      streams: false,
      sequenceNumber: 1,
    });
  });

  it('hands a worker the whole input, however large', async () => {
    for (const size of [10, 60_000, 70_000, 2_000_000]) {
      const responseId = newId();
      const input = [{ type: 'message', role: 'user', content: 'x'.repeat(size) } as const];
      await takeIn({ id: responseId, request: { input } });
      expect(await redis.client.exists(keys.large(responseId))).toBe(size > 65_000 ? 1 : 0);
      expect(await take(responseId, 'a')).toMatchObject({ kind: 'run', record: { input } });
      await store.write(responseId, 'a', 3, [], cancelled(nothingProduced));
      expect(await keysWithoutExpiry()).toEqual([]);
    }
  });

  it('takes nothing in behind its deadline, and leaves nothing of a large input', async () => {
    const past = (await storeNow()) - 1;
    const late = { deadline: () => past };
    expect(await takeIn({ ...late, limits: { requestsPerMinute: 5 } })).toEqual({ kind: 'too_late' });
    const input = [{ type: 'message', role: 'user', content: 'x'.repeat(100_000) } as const];
    expect(await takeIn({ ...late, request: { input } })).toEqual({ kind: 'too_late' });
    expect(await ownKeys()).toEqual([]);
  });

  it('changes nothing when it is repeated after a lost reply', async () => {
    const responseId = newId();
    const limits = { requestsPerMinute: 5 };
    const first = await takeIn({ id: responseId, limits });
    await take(responseId, 'a');
    const before = await redis.client.hgetall(keys.record(responseId));
    const again = await takeIn({ id: responseId, limits });
    expect(again).toMatchObject({ kind: 'accepted', use: { requests: { limit: 5, remaining: 4 } } });
    expect(
      again.kind === 'accepted' && first.kind === 'accepted' && again.acceptedAt === first.acceptedAt,
    ).toBe(true);
    expect(await redis.client.hgetall(keys.record(responseId))).toEqual(before);
    expect(await waiting()).toBe(0);
    expect(await takeIn({ limits })).toMatchObject({ use: { requests: { remaining: 3 } } });
  });

  it('is told again past its deadline', async () => {
    const responseId = newId();
    const past = (await storeNow()) - 1;
    const first = await takeIn({ id: responseId });
    const again = await takeIn({ id: responseId, deadline: () => past });
    expect([first.kind, again.kind]).toEqual(['accepted', 'accepted']);
  });

  it('writes what goes ahead once, however often its script is repeated', async () => {
    const responseId = newId();
    const input = [{ type: 'message', role: 'user', content: 'x'.repeat(100_000) } as const];
    const repeat = async (run: () => Promise<unknown>) => {
      await run();
      return run();
    };
    expect(await takeIn({ id: responseId, request: { input }, repeat })).toMatchObject({ kind: 'accepted' });
    expect(await redis.client.pttl(keys.large(responseId))).toBe(-1);
  });

  it('counts each response once over a connection that loses replies and sends again', async () => {
    const proxy = await startRedisProxy(inject('redisUrl'));
    // What ioredis does by default: a command without a reply is sent again after the reconnect.
    const flaky = new Redis(proxy.url, { retryStrategy: () => 5, protocol: 2 });
    flaky.on('error', () => undefined); // Cut on purpose.
    try {
      await flaky.ping();
      proxy.loseEvery(4);
      for (let at = 0; at < 40; at += 1) {
        expect(await takeIn({ by: flaky, limits: { requestsPerMinute: 100 } })).toMatchObject({
          kind: 'accepted',
        });
      }
      expect(proxy.lost).toBeGreaterThan(5);
      const counted = await store.caller.waiting('0');
      expect(counted.all.responses).toBe(40);
      expect(counted.byTenant.get('team-a')?.responses).toBe(40);
      expect(await redis.client.zcard(keys.open)).toBe(40);
      expect(await takeIn({ limits: { requestsPerMinute: 100 } })).toMatchObject({
        use: { requests: { remaining: 59 } },
      });
    } finally {
      flaky.disconnect();
      await proxy.stop();
    }
  });
});

describe('rate of requests', () => {
  it('tells where the tenant stands', async () => {
    const limits = { requestsPerMinute: 3 };
    for (const remaining of [2, 1, 0]) {
      const result = await takeIn({ limits });
      expect(result).toMatchObject({ kind: 'accepted', use: { requests: { limit: 3, remaining } } });
      if (result.kind === 'accepted') expectReset(result.use.requests?.resetMs);
    }
    const refused = await takeIn({ limits });
    expect(refused).toMatchObject({ kind: 'rate_limited', use: { requests: { limit: 3, remaining: 0 } } });
    if (refused.kind !== 'rate_limited') return;
    expectReset(refused.use.requests?.resetMs);
    expect(refused.retryAfterMs).toBeGreaterThan(55_000);
    expect(refused.retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  function expectReset(resetMs: number | undefined): void {
    expect(resetMs).toBeGreaterThan(55_000);
    expect(resetMs).toBeLessThanOrEqual(60_000);
  }

  it('is exact over four processes at once', async () => {
    const connections = [redis.client, redis.connect(), redis.connect(), redis.connect()];
    const limits = { requestsPerMinute: 100 };
    const results = await Promise.all(
      Array.from({ length: 400 }, (_, at) => takeIn({ limits, by: connections[at % 4] ?? redis.client })),
    );
    expect(results.filter(({ kind }) => kind === 'accepted')).toHaveLength(100);
    expect(results.filter(({ kind }) => kind === 'rate_limited')).toHaveLength(300);
    expect(await waiting()).toBe(100);
  });

  it('is counted for each tenant alone', async () => {
    const limits = { requestsPerMinute: 1 };
    expect(await takeIn({ limits })).toMatchObject({ kind: 'accepted' });
    expect(await takeIn({ limits })).toMatchObject({ kind: 'rate_limited' });
    expect(await takeIn({ limits, tenant: 'team-b' })).toMatchObject({ kind: 'accepted' });
  });

  it('consumes nothing when it refuses', async () => {
    const limits = { requestsPerMinute: 2 };
    await takeIn({ limits });
    await takeIn({ limits });
    for (let at = 0; at < 20; at += 1) await takeIn({ limits });
    // The next limit sees only what was accepted.
    expect(await takeIn({ limits: { requestsPerMinute: 4 } })).toMatchObject({
      kind: 'accepted',
      use: { requests: { remaining: 1 } },
    });
  });

  it('consumes nothing when the queue refuses', async () => {
    const limits = { requestsPerMinute: 2 };
    for (let at = 0; at < 5; at += 1) {
      expect(await takeIn({ limits: { ...limits, service: { ...service, queued: 0 } } })).toMatchObject({
        kind: 'queue_full',
        use: { requests: { remaining: 2, resetMs: 0 } },
      });
    }
    expect(await takeIn({ limits })).toMatchObject({ kind: 'accepted', use: { requests: { remaining: 1 } } });
  });

  it('never lets nothing through a limit of zero', async () => {
    expect(await takeIn({ limits: { requestsPerMinute: 0 } })).toMatchObject({ kind: 'rate_limited' });
  });

  /**
   * Redis owns the clock, so the past is written into its buckets instead of waited for: `ages` are seconds ago. The
   * accept must fall into the second that was looked at; another one is tried otherwise.
   */
  async function withHistory(
    tenant: string,
    history: Map<number, number>,
    limit: number,
  ): Promise<AcceptResult> {
    for (;;) {
      const second = Math.floor((await storeNow()) / 1_000);
      const rate = keys.requestRate(tenant);
      await redis.client.del(rate);
      let sum = 0;
      // A bucket is written in its second and thrown away by the first request that finds it too old.
      const newest = Math.min(...history.keys());
      for (const [age, count] of history) {
        if (age - newest > 59) continue;
        await redis.client.hset(rate, String((second - age) % 60), count);
        sum += count;
      }
      await redis.client.hset(rate, 'sum', sum, 'last', second - newest);
      const result = await takeIn({ tenant, limits: { requestsPerMinute: limit } });
      if (Math.floor((await storeNow()) / 1_000) === second) return result;
    }
  }

  it('never exceeds the limit in any sixty seconds, whatever came before', async () => {
    const random = randomFrom(7);
    for (let round = 0; round < 120; round += 1) {
      const history = new Map<number, number>();
      const limit = 1 + Math.floor(random() * 20);
      for (let left = Math.floor(random() * 8); left >= 0; left -= 1) {
        history.set(Math.floor(random() * 130), 1 + Math.floor(random() * 6));
      }
      let counted = 0;
      let oldest = 0;
      let newest = 60;
      for (const [age, count] of history) {
        if (age > 59) continue;
        counted += count;
        oldest = Math.max(oldest, age);
        newest = Math.min(newest, age);
      }
      const result = await withHistory('team-h', history, limit);
      const place = `round ${round}: ${JSON.stringify([...history])} of ${limit}`;
      expect(result.kind, place).toBe(counted < limit ? 'accepted' : 'rate_limited');
      if (result.kind === 'accepted') expect(result.use.requests?.remaining, place).toBe(limit - counted - 1);
      if (result.kind !== 'rate_limited') continue;
      // The oldest leaves the window first; when the newest has left, none counts any more.
      expect(Math.ceil(result.retryAfterMs / 1_000), place).toBe(60 - oldest);
      expect(Math.ceil((result.use.requests?.resetMs ?? 0) / 1_000), place).toBe(60 - newest);
    }
  });

  it('is not fooled by a clock that was set back', async () => {
    const second = Math.floor((await storeNow()) / 1_000) + 30;
    await redis.client.hset(keys.requestRate('team-a'), 'sum', 5, 'last', second, String(second % 60), 5);
    expect(await takeIn({ limits: { requestsPerMinute: 5 } })).toMatchObject({ kind: 'rate_limited' });
    expect(await takeIn({ limits: { requestsPerMinute: 6 } })).toMatchObject({
      kind: 'accepted',
      use: { requests: { remaining: 0 } },
    });
    expect(await takeIn({ limits: { requestsPerMinute: 6 } })).toMatchObject({ kind: 'rate_limited' });
  });
});

describe('bounds of the queue', () => {
  it('refuse more than a tenant may have waiting', async () => {
    const limits = { queued: 2 };
    const first = newId();
    await takeIn({ limits, id: first });
    await takeIn({ limits });
    expect(await takeIn({ limits })).toMatchObject({ kind: 'tenant_queue_full' });
    expect(await takeIn({ limits, tenant: 'team-b' })).toMatchObject({ kind: 'accepted' });
    await take(first, 'a');
    expect(await takeIn({ limits })).toMatchObject({ kind: 'accepted' });
  });

  it('refuse more than may wait in all, by number and by size', async () => {
    await takeIn();
    const { bytes } = (await store.caller.waiting('0')).all;
    expect(bytes).toBeGreaterThan(0);
    const refused = await takeIn({ limits: { service: { ...service, queued: 1 } } });
    expect(refused).toMatchObject({ kind: 'queue_full' });
    if (refused.kind === 'queue_full') expect(refused.retryAfterMs).toBeGreaterThanOrEqual(1_000);
    expect(await takeIn({ limits: { service: { ...service, queuedBytes: 2 * bytes - 1 } } })).toMatchObject({
      kind: 'queue_full',
    });
    expect(await takeIn({ limits: { service: { ...service, queuedBytes: 2 * bytes } } })).toMatchObject({
      kind: 'accepted',
    });
  });

  it('hold over four processes at once', async () => {
    const connections = [redis.client, redis.connect(), redis.connect(), redis.connect()];
    const results = await Promise.all(
      Array.from({ length: 80 }, (_, at) =>
        takeIn({ limits: { service: { ...service, queued: 25 } }, by: connections[at % 4] ?? redis.client }),
      ),
    );
    expect(results.filter(({ kind }) => kind === 'accepted')).toHaveLength(25);
  });
});

describe('idempotency key', () => {
  const idempotency = { key: 'order-1', keepMs: 60_000 };

  it('stands for the response it was first sent with', async () => {
    const responseId = newId();
    await takeIn({ idempotency, id: responseId });
    expect(await takeIn({ idempotency })).toEqual({ kind: 'duplicate', responseId });
    expect(await takeIn({ idempotency, request: { stream: false } })).toEqual({
      kind: 'duplicate',
      responseId,
    });
    expect(await takeIn({ idempotency, request: { temperature: 1.5 } })).toEqual({ kind: 'mismatch' });
    expect(await takeIn({ idempotency, tenant: 'team-b' })).toMatchObject({ kind: 'accepted' });
    const held = await redis.client.keys(`${keys.prefix}idempotency:*`);
    expect(held).toHaveLength(2);
    for (const key of held) expect(await redis.client.pttl(key)).toBeGreaterThan(0);
  });

  it('makes one response of fifty requests at once', async () => {
    const results = await Promise.all(
      Array.from({ length: 50 }, () => takeIn({ idempotency, limits: { requestsPerMinute: 60 } })),
    );
    expect(results.filter(({ kind }) => kind === 'accepted')).toHaveLength(1);
    expect(results.filter(({ kind }) => kind === 'duplicate')).toHaveLength(49);
    expect(await takeIn({ limits: { requestsPerMinute: 60 } })).toMatchObject({
      use: { requests: { remaining: 58 } },
    });
  });

  it('is free again after a failure, a cancellation, or a refusal', async () => {
    expect(await takeIn({ idempotency, limits: { service: { ...service, queued: 0 } } })).toMatchObject({
      kind: 'queue_full',
    });
    for (const end of [failed(nothingProduced, failureBody('timeout')), cancelled(nothingProduced)]) {
      const responseId = newId();
      expect(await takeIn({ idempotency, id: responseId })).toMatchObject({ kind: 'accepted' });
      await store.write(responseId, '', 2, [], end);
    }
    expect(await takeIn({ idempotency, request: { temperature: 0 } })).toMatchObject({ kind: 'accepted' });
  });

  it('says when the answer was not kept', async () => {
    const responseId = newId();
    const request = { store: false, background: false };
    // Its caller may come back, so a worker takes it.
    await takeIn({ idempotency, id: responseId, request, grace_ms: 60_000 });
    expect(await takeIn({ idempotency, request })).toEqual({ kind: 'duplicate', responseId });
    await take(responseId, 'a');
    await store.write(responseId, 'a', 3, [], completed(nothingProduced, 1));
    expect(await takeIn({ idempotency, request })).toEqual({ kind: 'gone' });
    await redis.client.del(keys.record(responseId));
    expect(await takeIn({ idempotency, request })).toEqual({ kind: 'gone' });
  });
});

describe('many lives at once', () => {
  it('leave the counts at zero, nothing open, and no key without an expiry', async () => {
    const random = randomFrom(11);
    const live = async (at: number) => {
      const responseId = newId();
      const tenant = `team-${at % 3}`;
      const accepting = {
        id: responseId,
        tenant,
        request: { stream: random() < 0.5, store: random() < 0.8, background: random() < 0.7 },
      };
      const input = [
        { type: 'message', role: 'user', content: 'x'.repeat(random() < 0.2 ? 70_000 : 10) } as const,
      ];
      const watched = random() < 0.2 ? { isWatched: true } : {};
      const result = await takeIn({
        ...accepting,
        ...watched,
        request: { ...accepting.request, input },
        limits: { queued: 20 },
      });
      if (result.kind !== 'accepted') return;
      await store.caller.noteJob(responseId);
      let token = '';
      let next = 2;
      for (;;) {
        const step = random();
        if (step < 0.3) {
          const claimed = await take(responseId, `${responseId}-${step}`);
          if (claimed.kind === 'nothing') return;
          if (claimed.kind !== 'run' && claimed.kind !== 'end') throw new Error(claimed.kind);
          token = `${responseId}-${step}`;
          next = claimed.record.sequenceNumber + 1;
        } else if (step < 0.4) {
          await store.attempts.release({ id: responseId, token }, { isCounted: false });
        } else if (step < 0.5) {
          await store.caller.leave(responseId, { graceMs: 0 });
        } else if (step < 0.7) {
          // Events are of streams alone.
          if (!accepting.request.stream) continue;
          const written = await store.write(responseId, token, next, ['{"type":"error"}']);
          if (written.kind === 'ok' || written.kind === 'cancelled') next += 1;
        } else if (step < 0.75) {
          await store.caller.erase(responseId, tenant);
          return;
        } else {
          const end = random() < 0.5 ? completed(nothingProduced, 1) : cancelled(nothingProduced);
          await store.write(responseId, random() < 0.2 ? '' : token, next, [], end);
        }
      }
    };
    const lanes = Array.from({ length: 8 }, async (_, lane) => {
      for (let at = 0; at < 25; at += 1) await live(lane * 25 + at);
    });
    await Promise.all(lanes);
    expect(await waiting()).toBe(0);
    expect(await store.attempts.survey('0', { offset: 0, count: 500 })).toEqual([]);
    expect(await keysWithoutExpiry()).toEqual([]);
    for (const tenant of ['team-0', 'team-1', 'team-2']) {
      const sum = Number(await redis.client.hget(keys.held(tenant), 'sum'));
      expect(sum).toBe(await countedIn(tenant));
      expect(sum).toBeGreaterThan(0);
    }
  });

  /** What the records of a tenant say that is counted of them. */
  async function countedIn(tenant: string): Promise<number> {
    let sum = 0;
    for (const key of await redis.client.keys(`${keys.record('')}*`)) {
      const id = key.slice(keys.record('').length);
      if ((await store.field(id, 'tenant')) !== tenant) continue;
      const held = await store.field(id, 'held');
      for (const [, bytes] of held?.matchAll(/\S+ (\d+)/g) ?? []) sum += Number(bytes);
    }
    return sum;
  }
});
