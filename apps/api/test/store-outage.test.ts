import {
  checkEventGrammar,
  eventually,
  latch,
  type LocalRedis,
  readSse,
  hasServer,
  startLocalRedis,
  startRedisProxy,
  testRedis,
  within,
} from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { postResponse, processSettings, startApi as startProcess } from './api-process-site.ts';
import { apiKeys, model, startTestApi } from './test-api.ts';

let store: LocalRedis;
let stop: (() => Promise<void>) | undefined;
let url: string;
let lines: string[];

beforeEach(async () => {
  store = await startLocalRedis({ kind: 'server' });
});

afterEach(async () => {
  process.kill(store.pid, 'SIGCONT');
  await stop?.();
  stop = undefined;
  await store.stop();
});

async function startApi(redisUrl = store.url): Promise<void> {
  ({ url, lines, stop } = await startProcess({ settings: processSettings(redisUrl, 'outage:') }));
}

const create = (more: object = { background: true }) => postResponse(url, more);

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

/** Every kind of request is refused while the store is away, and the process says that it lives. */
async function expectRefusals(): Promise<void> {
  const headers = { authorization: `Bearer ${apiKeys.first}` };
  const answers = await Promise.all([
    create({}),
    create({ stream: true }),
    create(),
    create({ input: 'x'.repeat(200_000), background: true }),
    fetch(`${url}/v1/responses/create-response_${'a'.repeat(32)}`, { headers }),
  ]);
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
 * Refuses a load once the outage is known: a hundred requests, one after the other. If each waited a second for the store,
 * they would take far longer than any wait of a test.
 */
async function expectSwiftRefusals(): Promise<void> {
  const before = lines.length;
  const refuse = async () => {
    for (let at = 0; at < 100; at += 1) {
      expect(await statusOf(create(at % 2 === 0 ? {} : { background: true }))).toBe(503);
    }
  };
  await within(refuse());
  // Each kind of line comes once in ten seconds at most, so there are far fewer than refusals, however long those took.
  expect(lines.length - before).toBeLessThan(50);
}

async function expectRecovery(): Promise<void> {
  await eventually(async () => (await statusOf(create())) === 200);
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
    await startApi();
    await expectService();
    process.kill(store.pid, 'SIGSTOP');
    await expectRefusals();
    process.kill(store.pid, 'SIGCONT');
    await expectRecovery();
    // Two before the outage, one after it; what was refused in between is not among them.
    await eventually(async () => (await waiting()) === 3);
  });

  it('refuses a load at once when it is known to be silent', async () => {
    const proxy = await startRedisProxy(store.url);
    await startApi(proxy.url);
    expect(await statusOf(create())).toBe(200);
    let asked = 0;
    proxy.onRequest((data) => {
      if (data.includes('{0}:response:')) asked += 1;
    });
    process.kill(store.pid, 'SIGSTOP');
    // The first ones wait for it.
    await eventually(async () => {
      const before = asked;
      expect(await statusOf(create())).toBe(503);
      return asked === before;
    });
    expect(asked).toBeGreaterThan(0);
    asked = 0;
    await expectSwiftRefusals();
    expect(asked).toBe(0);
    process.kill(store.pid, 'SIGCONT');
    await expectRecovery();
    await eventually(async () => (await waiting()) === 2);
    await stop?.();
    await proxy.stop();
  });
});

describe.skipIf(!hasServer)('a store that is dead (needs a server on the PATH)', () => {
  it('makes every request be refused in time, and is found again', async () => {
    await startApi();
    await expectService();
    const { port, directory } = store;
    await store.kill();
    await expectRefusals();
    store = await startLocalRedis({ kind: 'server', port, directory });
    await expectRecovery();
  });

  it('makes a load be refused at once', async () => {
    await startApi();
    const { port, directory } = store;
    await store.kill();
    await eventually(async () => (await statusOf(create())) === 503);
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
