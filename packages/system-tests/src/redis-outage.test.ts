import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  eventually,
  type FakeUpstream,
  type LocalRedis,
  startFakeUpstream,
  hasServer,
  startLocalRedis,
} from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Caller, callerOf } from './caller.ts';
import { textOf } from './read-stream.ts';
import { type Service, startService } from './service.ts';

/** What the service promises for an outage of Redis. */
const refusedWithinMs = 1_500;
const recoveredWithinMs = 3_000;

let directory: string;
let redis: LocalRedis;
let upstream: FakeUpstream;
let service: Service;
let caller: Caller;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-outage-'));
  redis = await startLocalRedis({ directory, ...(hasServer && { kind: 'server' }) });
  upstream = await startFakeUpstream();
  upstream.onChatCompletions(async ({ stream }) => {
    const answer = stream();
    await answer.send({ choices: [{ index: 0, delta: { content: 'Here.' }, finish_reason: 'stop' }] });
    answer.done();
  });
  service = await startService({
    redisUrl: redis.url,
    workers: 2,
    settings: {
      providers: [
        { id: 'upstream', type: 'openai-chat', baseUrl: upstream.baseUrl },
        { id: 'local', type: 'simulator' },
      ],
      models: [
        { id: 'watched', routes: [{ provider: 'upstream' }] },
        { id: 'simulator', routes: [{ provider: 'local' }] },
      ],
    },
  });
  caller = callerOf(service.apiUrls[0] ?? '', service.key);
});
afterEach(async () => {
  await service?.stop();
  await upstream?.close();
  await redis?.stop();
  await rm(directory, { recursive: true, force: true });
});

const statusOf = async (path: string) => (await fetch(`${service.apiUrls[0]}${path}`)).status;

/** Sends a request during the outage, and expects the promised refusal. */
async function expectRefusal(): Promise<void> {
  const sentAt = performance.now();
  const { status, headers } = await caller.create({ model: 'watched', input: 'Refused.' });
  expect({ status, inTime: performance.now() - sentAt < refusedWithinMs }).toEqual({
    status: 503,
    inTime: true,
  });
  expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
}

/** Expects everything to work again within the promised time. */
async function expectRecovery(): Promise<void> {
  const backAt = performance.now();
  const answer = await eventually(
    async () => {
      const tried = await caller.create({ model: 'watched', input: 'Accepted.' });
      return tried.status === 200 && tried;
    },
    { timeoutMs: 10_000 },
  );
  await eventually(async () => (await statusOf('/readyz')) === 200);
  expect(performance.now() - backAt).toBeLessThan(recoveredWithinMs);
  expect(answer.body.output_text).toBe('Here.');
}

/** Whether a refused request reached the upstream after all. Reliable only once a later request has reached it. */
const refusedCalls = () =>
  upstream.requests.filter(({ body }) => JSON.stringify(body).includes('Refused.')).length;

it('a frozen Redis is answered with 503 in time, and what was refused never runs', async () => {
  let seen = '';
  const open = caller.stream(
    { input: 'Go on through it. [[sluice: tokens=80 tokens_per_second=20]]' },
    { onEvent: (event) => (seen += textOf([event])) },
  );
  open.catch(() => undefined); // It is awaited at the end, and may reject before that.
  await eventually(() => seen !== '');
  process.kill(redis.pid, 'SIGSTOP');
  try {
    await expectRefusal();
    await expect(statusOf('/healthz')).resolves.toBe(200);
    await eventually(async () => (await statusOf('/readyz')) === 503, { timeoutMs: 5_000 });
  } finally {
    process.kill(redis.pid, 'SIGCONT');
  }
  await expectRecovery();
  expect(refusedCalls()).toBe(0);
  const { final, text } = await open;
  expect(final.status).toBe('completed');
  expect(text).toBe(final.output_text);
});

describe.skipIf(!hasServer)('a Redis that is killed (needs a server on the PATH)', () => {
  const restart = async () => {
    redis = await startLocalRedis({ directory, port: redis.port, kind: 'server' });
  };

  it('is answered with 503 in time, until it is back', async () => {
    await redis.kill();
    await expectRefusal();
    await expect(statusOf('/healthz')).resolves.toBe(200);
    await expect(statusOf('/readyz')).resolves.toBe(503);
    await restart();
    await expectRecovery();
    expect(refusedCalls()).toBe(0);
  });

  it('loses no response that was accepted', async () => {
    const begun = new Set<string>();
    const streams = Array.from({ length: 20 }, (_, at) =>
      caller.stream(
        {
          input: `Talk about topic-${at}. [[sluice: tokens=60 tokens_per_second=30 first_token_ms=${at * 20}]]`,
        },
        { onEvent: ({ response }) => response && begun.add(response.id) },
      ),
    );
    const wholes = Array.from({ length: 10 }, (_, at) =>
      caller.create({ input: `Talk about topic-${at}. [[sluice: first_token_ms=1500]]` }),
    );
    await eventually(() => begun.size === 20);
    await redis.kill();
    await restart();

    // `stream` checks each stream against the grammar, whichever way it ended.
    for (const { final, text, events } of await Promise.all(streams)) {
      expect(['completed', 'failed']).toContain(final.status);
      expect(text).toBe(final.output_text);
      if (final.status === 'failed') expect(events.at(-2)?.type).toBe('error');
      const read = await eventually(async () => {
        const tried = await caller.get(final.id);
        return tried.status === 200 && tried;
      });
      expect(read.body).toEqual(final);
    }
    for (const { status, body } of await Promise.all(wholes)) {
      if (status === 200) expect(body.status).toBe('completed');
      else expect(body.error?.code).toEqual(expect.any(String));
    }
  });
});
