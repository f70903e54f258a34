import { createLogger } from '@sluice/runtime';
import {
  checkEventGrammar,
  eventually,
  latch,
  type LocalRedis,
  readSse,
  hasServer,
  startLocalRedis,
  testRedis,
  within,
} from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiProcess } from '../src/api-process.ts';
import { apiKeys, model, startTestApi, testSettings } from './test-api.ts';

/** How long a client may wait for its refusal, and how soon the service must be back, in milliseconds. */
const refusedWithinMs = 1_500;
const backWithinMs = 3_000;

let store: LocalRedis;
let api: ApiProcess;
let url: string;
let logged: string[];

beforeEach(async () => {
  store = await startLocalRedis({ kind: 'server' });
  const settings = testSettings(store.url, 'outage:', {});
  const ready = latch<string>();
  logged = [];
  api = new ApiProcess({
    settings: { ...settings, redisUrl: store.url },
    logger: createLogger({
      name: 'api',
      level: 'info',
      destination: { write: (line: string) => logged.push(line) },
    }),
    onReady: (listening) => ready.open(listening.url),
  });
  await api.start(new AbortController().signal);
  url = await ready.wait();
});

afterEach(async () => {
  process.kill(store.pid, 'SIGCONT');
  await api.stop('requested');
  await store.stop();
});

function create(more: object = { background: true }): Promise<Response> {
  return fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKeys.first}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: 'Hi', ...more }),
  });
}

async function statusOf(answer: Promise<Response>): Promise<number> {
  const response = await answer;
  await response.text();
  return response.status;
}

/** Small and large requests are taken. The first large one starts a thread, which takes time of its own. */
async function expectService(): Promise<void> {
  expect(await statusOf(create())).toBe(200);
  expect(await statusOf(create({ input: 'x'.repeat(200_000), background: true }))).toBe(200);
}

/** Every kind of request is refused in time, and the process says that it lives. */
async function expectRefusals(): Promise<void> {
  const headers = { authorization: `Bearer ${apiKeys.first}` };
  const startedAt = performance.now();
  const answers = await Promise.all([
    create({}),
    create({ stream: true }),
    create(),
    create({ input: 'x'.repeat(200_000), background: true }),
    fetch(`${url}/v1/responses/create-response_${'a'.repeat(32)}`, { headers }),
  ]);
  expect(performance.now() - startedAt).toBeLessThan(refusedWithinMs);
  for (const answer of answers) {
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      error: { code: 'server_is_overloaded', type: 'server_error', param: null },
    });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(answer.headers.get('retry-after-ms'))).toBeGreaterThanOrEqual(1);
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
  }
  expect(await statusOf(fetch(`${url}/healthz`))).toBe(200);
  expect(await statusOf(fetch(`${url}/readyz`))).toBe(503);
  expect(await statusOf(create({ temperature: 9 }))).toBe(400);
  expect(await statusOf(fetch(`${url}/v1/models`))).toBe(401);
}

/**
 * Refuses 200 requests a second for two seconds, once the outage is known, without letting any of them wait for the
 * store. The bound is far below the second that each would wait by itself, and far above what a busy machine needs.
 */
async function expectSwiftRefusals(): Promise<void> {
  const boundMs = 700;
  const refusal = async (more: object) => {
    const sentAt = performance.now();
    expect(await statusOf(create(more))).toBe(503);
    return performance.now() - sentAt;
  };
  await eventually(async () => (await refusal({})) < boundMs, { timeoutMs: 4_000 });
  const before = logged.length;
  const refusals: Promise<number>[] = [];
  for (let at = 0; at < 400; at += 1) {
    refusals.push(refusal(at % 2 === 0 ? {} : { background: true }));
    // Real time: a load is requests in time.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const tookMs = (await Promise.all(refusals)).toSorted((a, b) => a - b);
  expect(tookMs[Math.floor(tookMs.length * 0.99)]).toBeLessThan(boundMs);
  // Each kind of line comes once in ten seconds at most.
  expect(logged.length - before).toBeLessThan(10);
}

async function expectRecovery(): Promise<void> {
  await eventually(async () => (await statusOf(create())) === 200, { timeoutMs: backWithinMs });
  await eventually(async () => (await statusOf(fetch(`${url}/readyz`))) === 200);
}

/** Responses that wait to be run. */
async function waiting(): Promise<number> {
  const redis = await testRedis(store.url);
  try {
    return await redis.client.zcard(`outage:{0}:bull:${model}:prioritized`);
  } finally {
    await redis.close();
  }
}

describe.skipIf(!hasServer)('a store that is frozen (needs a server on the PATH)', () => {
  it('makes every request be refused in time, and runs none of them when it thaws', async () => {
    await expectService();
    process.kill(store.pid, 'SIGSTOP');
    await expectRefusals();
    process.kill(store.pid, 'SIGCONT');
    await expectRecovery();
    // Two before the outage, one after it; what was refused in between is not among them.
    await eventually(async () => (await waiting()) === 3);
  });

  it('refuses a load at once when it is known to be silent', async () => {
    expect(await statusOf(create())).toBe(200);
    process.kill(store.pid, 'SIGSTOP');
    await expectSwiftRefusals();
    process.kill(store.pid, 'SIGCONT');
    await expectRecovery();
    await eventually(async () => (await waiting()) === 2);
  });
});

describe.skipIf(!hasServer)('a store that is dead (needs a server on the PATH)', () => {
  it('makes every request be refused in time, and is found again', async () => {
    await expectService();
    const { port, directory } = store;
    await store.kill();
    await expectRefusals();
    store = await startLocalRedis({ kind: 'server', port, directory });
    await expectRecovery();
  });

  it('makes a load be refused at once', async () => {
    const { port, directory } = store;
    await store.kill();
    await expectSwiftRefusals();
    store = await startLocalRedis({ kind: 'server', port, directory });
    await expectRecovery();
  });
});

describe.skipIf(!hasServer)('an open stream (needs a server on the PATH)', () => {
  it('stays open over an outage and goes on without a gap', async () => {
    const goOn = latch();
    const begun = latch();
    const testApi = await startTestApi({ redisUrl: store.url });
    try {
      testApi.worker.onRun(async (run) => {
        run.say('before');
        begun.open();
        await goOn.wait();
        run.say(' after');
        await run.complete();
      });
      const response = await testApi.stream({ model, input: 'Hi' });
      const read = response.text();
      await begun.wait();
      process.kill(store.pid, 'SIGSTOP');
      // A refusal of another request shows that the outage is noticed.
      expect((await testApi.get(`/v1/responses/create-response_${'a'.repeat(32)}`)).status).toBe(503);
      process.kill(store.pid, 'SIGCONT');
      goOn.open();
      const { events, done, problems } = await readSse(await within(read));
      expect(problems).toEqual([]);
      expect(done).toBe(true);
      expect(checkEventGrammar(events)).toEqual([]);
      expect(events.at(-1)).toMatchObject({ response: { output_text: 'before after' } });
    } finally {
      await testApi.stop();
    }
  });
});
