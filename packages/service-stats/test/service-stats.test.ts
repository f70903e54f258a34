import { commandClient, createLogger, Telemetry, waitForRedis } from '@sluice/runtime';
import { eventually, forEachTest, startRedisProxy, testRedis } from '@sluice/testing';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { HistoryReader, StatsReader, StatsRecorder } from '../src/index.ts';

const minuteMs = 60_000;
const start = 1_700_000_040_000;

const redis = forEachTest(testRedis);
let keyPrefix: string;
let now: number;
let isClockKnown: boolean;
beforeEach(() => {
  keyPrefix = `${redis.prefix}:{0}:`;
  now = start;
  isClockKnown = true;
});

let processes = 0;

function startProcess(connection: Pick<Redis, 'eval'> = redis.client) {
  const telemetry = new Telemetry((error) => {
    throw error;
  });
  const errors: unknown[] = [];
  processes += 1;
  const recorder = new StatsRecorder({
    connection,
    keyPrefix,
    processId: `process${processes}`,
    telemetry,
    hasModel: (model) => /^(?:m\d*|n)$/.test(model),
    now: () => (isClockKnown ? now : undefined),
    onError: (error) => errors.push(error),
  });
  const accept = (tenant = 'a', model = 'm') =>
    telemetry.emit('response.accepted', {
      ...{ responseId: 'r', requestId: 'q', tenant, model, mode: 'whole', tier: 'default' },
      ...{ acceptedAt: now, isInLine: false, metadata: undefined },
    });
  const end = (
    status: string,
    more: { tenant?: string; code?: string; tokens?: number; ranMs?: number } = {},
  ) =>
    telemetry.emit('response.ended', {
      responseId: 'r',
      tenant: more.tenant ?? 'a',
      model: 'm',
      attempt: 1,
      status,
      because: undefined,
      code: more.code,
      inputTokens: more.tokens,
      outputTokens: more.tokens,
      ...(more.ranMs !== undefined && { ranMs: more.ranMs }),
    });
  return { telemetry, recorder, errors, accept, end };
}

const reader = (connection: Pick<Redis, 'hgetall'> = redis.client) =>
  new StatsReader({ connection, keyPrefix, now: () => now });

describe('what several processes have counted', () => {
  it('adds up', async () => {
    const [api, other, worker] = [startProcess(), startProcess(), startProcess()];
    for (let n = 0; n < 5; n += 1) api.accept();
    other.accept('b', 'n');
    other.telemetry.emit('response.refused', { tenant: 'b', model: 'n', code: 'rate_limit_exceeded' });
    api.telemetry.emit('response.first_output', { responseId: 'r', model: 'm', sinceRequestMs: 100 });
    for (let n = 0; n < 3; n += 1) worker.end('completed', { tokens: 10 });
    worker.end('failed', { code: 'timeout' });
    worker.end('cancelled');
    await Promise.all([api, other, worker].map(({ recorder }) => recorder.add()));
    const { total, models, tenants, codes, spans } = await reader().read();
    expect(total).toMatchObject({
      accepted: 6,
      refused: 1,
      completed: 3,
      failed: 1,
      cancelled: 1,
      incomplete: 0,
      input_tokens: 30,
      output_tokens: 30,
    });
    expect(total.first_token_p50_ms).toBeGreaterThan(84);
    expect(total.first_token_p99_ms).toBeLessThan(119);
    expect(models.get('m')).toMatchObject({ accepted: 5, completed: 3, output_tokens: 30 });
    expect(models.get('n')).toMatchObject({ accepted: 1, refused: 1, first_token_p50_ms: null });
    expect(tenants.get('a')).toMatchObject({ accepted: 5, failed: 1, output_tokens: 30 });
    expect(tenants.get('b')).toMatchObject({ accepted: 1, refused: 1 });
    expect(codes).toEqual(new Map([['timeout', 1]]));
    expect(spans.at(-1)?.figures).toEqual(total);
  });

  it('has a span for each ten seconds of the hour, without gaps, and forgets what is older', async () => {
    const api = startProcess();
    const look = reader();
    for (let minute = 0; minute < 65; minute += 5) {
      now = start + minute * minuteMs + 25_000;
      api.accept();
      await api.recorder.add();
      // It remembers from one reading to the next.
      await look.read();
    }
    for (const { spans, total } of [await look.read(), await reader().read()]) {
      const times = spans.map(({ at }) => at);
      expect(times[0]).toBe(start + minuteMs);
      expect(times.at(-1)).toBe(start + 60 * minuteMs + 20_000);
      expect(times.every((at, place) => place === 0 || at === (times[place - 1] ?? 0) + 10_000)).toBe(true);
      expect(spans.filter(({ figures }) => figures.accepted === 1).map(({ at }) => at)).toEqual(
        Array.from({ length: 12 }, (_, n) => start + (n + 1) * 5 * minuteMs + 20_000),
      );
      expect(total.accepted).toBe(12);
    }
  });

  it('is gone from Redis soon after the hour', async () => {
    const api = startProcess();
    api.accept();
    await api.recorder.add();
    const [key = ''] = await redis.client.keys(`${keyPrefix}stats:1*`);
    const ttl = await redis.client.pttl(key);
    expect(ttl).toBeGreaterThan(61 * minuteMs);
    expect(ttl).toBeLessThanOrEqual(65 * minuteMs);
  });

  it('bounds the tenants of a minute over all processes, and counts the others in the total', async () => {
    for (let n = 0; n < 6; n += 1) {
      const { accept, recorder } = startProcess();
      for (let tenant = 0; tenant < 60; tenant += 1) accept(`tenant${n}-${tenant}`);
      await recorder.add();
    }
    const late = startProcess();
    late.accept('tenant0-7');
    await late.recorder.add();
    const { total, tenants } = await reader().read();
    expect(total.accepted).toBe(361);
    expect(tenants.size).toBe(128);
    expect(tenants.get('tenant0-7')?.accepted).toBe(2);
    const [key = ''] = await redis.client.keys(`${keyPrefix}stats:1*`);
    expect(await redis.client.hget(key, 'r:t:')).toBe('{"accepted":232}');
  });
});

describe('how long things took', () => {
  it('is known of the wait in the queue, and of the time from the first attempt to the end', async () => {
    const worker = startProcess();
    const about = { responseId: 'r', model: 'm', mode: 'whole' } as const;
    for (let n = 0; n < 10; n += 1) {
      worker.telemetry.emit('attempt.started', { ...about, attempt: 1, sinceAcceptMs: 1_000 });
      // It waited once.
      worker.telemetry.emit('attempt.started', { ...about, attempt: 2, sinceAcceptMs: 90_000 });
      worker.end('completed', { ranMs: 4_000 });
    }
    worker.end('failed');
    await worker.recorder.add();
    const { total, models } = await reader().read();
    for (const [found, truth] of [
      [total.wait_p50_ms, 1_000],
      [total.wait_p99_ms, 1_000],
      [total.run_p50_ms, 4_000],
      [total.run_p99_ms, 4_000],
    ] as const) {
      expect((found ?? 0) / truth).toBeGreaterThan(1 / 1.2);
      expect((found ?? 0) / truth).toBeLessThan(1.2);
    }
    expect([total.first_token_p50_ms, models.get('m')?.wait_p50_ms]).toEqual([null, null]);
  });
});

describe('the day and the week', () => {
  const hourMs = 60 * minuteMs;
  const history = () => new HistoryReader({ connection: redis.client, keyPrefix, now: () => now });

  it('have what all processes counted, long after its minutes are gone', async () => {
    const [one, other] = [startProcess(), startProcess()];
    for (const { accept, recorder } of [one, other]) {
      accept();
      await recorder.add();
    }
    now += 3 * hourMs;
    one.accept();
    await one.recorder.add();
    const counts = async (span: 'day' | 'week') => {
      const { spans } = await history().read(span);
      return spans.map(({ figures }) => figures.accepted).filter((count) => count > 0);
    };
    expect(await counts('day')).toEqual([2, 1]);
    expect(await counts('week')).toEqual([2, 1]);
    now += 22 * hourMs;
    expect(await counts('day')).toEqual([1]);
    now += 7 * 24 * hourMs;
    expect(await counts('week')).toEqual([]);
  });

  it('have spans without gaps, to the present one', async () => {
    for (const [span, count, spanMs] of [
      ['day', 288, 5 * minuteMs],
      ['week', 168, hourMs],
    ] as const) {
      const { spans, ...reading } = await history().read(span);
      expect(reading).toEqual({ at: now, spanMs });
      expect(spans).toHaveLength(count);
      expect(spans.at(-1)?.at).toBe(Math.floor(now / spanMs) * spanMs);
      for (const [at, { at: begin }] of spans.entries())
        expect(begin).toBe((spans[0]?.at ?? 0) + at * spanMs);
    }
  });

  it('take a bounded number of fields of bounded size, whoever calls', async () => {
    const api = startProcess();
    for (let minute = 0; minute < 65; minute += 1) {
      for (let n = 0; n < 50; n += 1) {
        api.accept(`tenant${n}`, `m${n % 20}`);
        api.end('completed', { tokens: 1e9, ranMs: n ** 4 });
      }
      await api.recorder.add();
      now += minuteMs;
    }
    for (const key of await redis.client.keys(`${keyPrefix}stats:day:*`)) {
      const hash = await redis.client.hgetall(key);
      // Twelve spans, and the one process.
      expect(Object.keys(hash).length).toBeLessThanOrEqual(13);
      for (const text of Object.values(hash)) expect(text.length).toBeLessThan(4_000);
      expect(await redis.client.pttl(key)).toBeGreaterThan(24 * hourMs);
    }
  });

  it('are read once for all that look', async () => {
    const asked = vi.spyOn(redis.client, 'hgetall');
    const shared = history();
    await Promise.all([shared.read('day'), shared.read('day')]);
    expect(asked.mock.calls.length).toBeLessThanOrEqual(25);
    asked.mockRestore();
  });
});

it('begins when the clock of the store is known', async () => {
  const api = startProcess();
  isClockKnown = false;
  api.accept();
  await api.recorder.add();
  expect(await redis.client.keys(`${keyPrefix}*`)).toEqual([]);
  isClockKnown = true;
  api.accept();
  await api.recorder.add();
  expect((await reader().read()).total.accepted).toBe(1);
});

it('names no model that a client has made up', async () => {
  const api = startProcess();
  for (let n = 0; n < 300; n += 1) {
    api.telemetry.emit('response.refused', {
      tenant: 'a',
      model: `made up ${n}`,
      code: 'server_is_overloaded',
    });
  }
  api.accept();
  await api.recorder.add();
  const { total, models } = await reader().read();
  expect(total.refused).toBe(300);
  expect([...models.keys()]).toEqual(['m']);
});

describe('an addition', () => {
  it('is a few commands, however many responses there were', async () => {
    const sent = vi.spyOn(redis.client, 'eval');
    const api = startProcess();
    await api.recorder.add();
    expect(sent).not.toHaveBeenCalled();
    api.accept();
    await api.recorder.add();
    // One for the minute, the day and the week.
    expect(sent).toHaveBeenCalledTimes(3);
    for (const count of [200, 20_000]) {
      sent.mockClear();
      for (let n = 0; n < count; n += 1) api.accept(`tenant${n % 200}`, `m${n % 20}`);
      await api.recorder.add();
      // A span, twenty models, and sixty-four tenants with their rest, in parts of thirty-two; the day and the week.
      expect(sent).toHaveBeenCalledTimes(5);
    }
    expect((await reader().read()).total.accepted).toBe(20_201);
  });

  it.each([1, 2, 3])('counts once when the reply to it was lost, %i additions long', async (lost) => {
    const proxy = await startRedisProxy(redis.url);
    onTestFinished(() => proxy.stop());
    const logger = createLogger({ name: 'test', level: 'silent' });
    const client = commandClient(proxy.url, { logger });
    onTestFinished(() => client.disconnect());
    const ready = () => waitForRedis(client, AbortSignal.timeout(10_000));
    await ready();
    const api = startProcess(client);
    for (let n = 0; n < lost; n += 1) {
      api.accept();
      proxy.loseReplyTo('stats:');
      await api.recorder.add();
      expect(api.errors).toHaveLength(n + 1);
      await ready();
    }
    await eventually(async () => {
      await api.recorder.add();
      return (await reader().read()).total.accepted === lost;
    });
    await api.recorder.add();
    expect((await reader().read()).total.accepted).toBe(lost);
  });

  it('counts once in each of its parts, when some of them were refused', async () => {
    const api = startProcess();
    for (let n = 0; n < 60; n += 1) api.accept(`tenant${n}`);
    const evaluate = redis.client.eval.bind(redis.client) as (...args: unknown[]) => Promise<unknown>;
    let calls = 0;
    const sent = vi.spyOn(redis.client, 'eval').mockImplementation(async (...args: unknown[]) => {
      const call = (calls += 1);
      // The first is not done, and the second is although its reply is lost.
      if (call === 1) throw new Error('OOM');
      const reply = await evaluate(...args);
      if (call === 2) throw new Error('Connection is closed.');
      return reply;
    });
    await api.recorder.add();
    await api.recorder.add();
    await api.recorder.add();
    expect(sent).toHaveBeenCalledTimes(6);
    sent.mockRestore();
    const { total, tenants } = await reader().read();
    expect(total.accepted).toBe(60);
    expect([...tenants.values()].map(({ accepted }) => accepted)).toEqual(
      Array.from({ length: 60 }, () => 1),
    );
  });

  it('comes when Redis is back, to the time at which it was counted', async () => {
    const proxy = await startRedisProxy(redis.url);
    onTestFinished(() => proxy.stop());
    const client = commandClient(proxy.url, { logger: createLogger({ name: 'test', level: 'silent' }) });
    onTestFinished(() => client.disconnect());
    await waitForRedis(client, AbortSignal.timeout(10_000));
    const api = startProcess(client);
    proxy.silence();
    for (let minute = 0; minute < 3; minute += 1) {
      now = start + minute * minuteMs;
      api.accept();
      await api.recorder.add();
    }
    proxy.speak();
    await eventually(async () => {
      await api.recorder.add();
      return (await reader().read()).total.accepted === 3;
    });
    const { spans } = await reader().read();
    const counted = spans.filter(({ figures }) => figures.accepted > 0);
    expect(counted.map(({ at }) => at)).toEqual([start, start + minuteMs, start + 2 * minuteMs]);
  });

  it('is kept for ten minutes while Redis is silent, and what is lost then is said', async () => {
    const refused = vi.spyOn(redis.client, 'eval').mockRejectedValue(new Error('away'));
    const api = startProcess();
    for (let minute = 0; minute < 30; minute += 1) {
      now = start + minute * minuteMs;
      api.accept();
      if (minute % 3 === 0) await api.recorder.add();
    }
    const lost = api.errors.filter((error) => String(error).includes('is lost'));
    expect(lost).toHaveLength(20);
    refused.mockRestore();
    await api.recorder.stop();
    await api.recorder.stop();
    expect((await reader().read()).total.accepted).toBe(10);
  });
});

describe('a reader', () => {
  it('asks for what may have changed, and finds what came late', async () => {
    const api = startProcess();
    const slow = startProcess();
    for (let minute = 0; minute < 60; minute += 1) {
      now = start + minute * minuteMs;
      if (minute === 10) slow.accept();
      api.accept();
      await api.recorder.add();
    }
    now += 45_000;
    const asked = vi.spyOn(redis.client, 'hgetall');
    const look = reader();
    expect((await look.read()).total.accepted).toBe(60);
    expect(asked).toHaveBeenCalledTimes(60);
    expect((await look.read()).total.accepted).toBe(60);
    expect(asked).toHaveBeenCalledTimes(61);
    await slow.recorder.add();
    now += 61_000;
    // A minute has left the hour, and another one has begun.
    expect((await look.read()).total.accepted).toBe(60);
    now -= 61_000;
    look.forget();
    expect((await look.read()).total.accepted).toBe(61);
  });

  it('reads a shorter time beside the hour', async () => {
    const api = startProcess();
    const look = reader();
    for (let minute = 0; minute < 20; minute += 1) {
      now = start + minute * minuteMs;
      api.accept(minute < 10 ? 'early' : 'late');
      await api.recorder.add();
    }
    const [hour, short] = await Promise.all([look.read(), look.read(5)]);
    expect([hour.total.accepted, short.total.accepted]).toEqual([20, 5]);
    expect([...short.tenants.keys()]).toEqual(['late']);
    expect((await look.read()).tenants.get('early')?.accepted).toBe(10);
  });

  it('rejects while Redis does not answer', async () => {
    const away = { hgetall: vi.fn<Redis['hgetall']>().mockRejectedValue(new Error('away')) };
    await expect(reader(away).read()).rejects.toThrow('away');
  });
});
