import { queueName, queuePrefix } from '@sluice/queue';
import type { RequestStop } from '@sluice/runtime';
import {
  checkEventGrammar,
  eventually,
  type FakeUpstream,
  latch,
  type TestRedis,
  type UpstreamStream,
  within,
} from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WorkerProcess } from '../src/worker-process.ts';
import type { AcceptedResponses } from './accepted-responses.ts';
import { listeningWorker } from './listening-worker.ts';
import { model, startUpstreamSite, type UpstreamSite } from './upstream-site.ts';

let redis: TestRedis;
let upstream: FakeUpstream;
let responses: AcceptedResponses;
let site: UpstreamSite;

beforeEach(async () => {
  site = await startUpstreamSite();
  ({ redis, responses } = site);
  upstream = await site.upstream();
});

afterEach(() => site.stop());

interface WorkerOptions {
  drainTimeoutMs?: number;
  /** May be less than the settings allow. */
  lockMs?: number;
  now?: () => number;
  requestStop?: RequestStop;
}

/** A worker with locks that lapse soon. */
async function startWorker(options: WorkerOptions = {}): Promise<WorkerProcess> {
  const { drainTimeoutMs = 10_000, lockMs, now, requestStop } = options;
  const file = `
providers: [{ id: fake, type: openai-chat, baseUrl: '${upstream.baseUrl}' }]
models: [{ id: ${model}, routes: [{ provider: fake, model: upstream-model }] }]
recovery: { lockMs: 6000, stalledMs: 300 }
drainTimeoutMs: ${drainTimeoutMs}
`;
  const { worker, ready } = listeningWorker(redis, file, { lockMs, ...(now && { now }) });
  site.workers.push(worker);
  await worker.start(new AbortController().signal, requestStop);
  await ready.wait();
  return worker;
}

const says = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
const stops = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };

async function answerWhole(stream: UpstreamStream, text: string): Promise<void> {
  await stream.send(says(text));
  await stream.send(stops);
  stream.done();
}

/** The upstream says one word to each request and then nothing, until the test goes on. */
function upstreamThatPauses() {
  const goOn = latch();
  upstream.onChatCompletions(async ({ stream }) => {
    const events = stream();
    await events.send(says('Hello'));
    await goOn.wait();
    await answerWhole(events, ' there');
  });
  return goOn;
}

/** Waits until the upstream's word is in the log. */
function visible(responseId: string) {
  return eventually(async () => JSON.stringify(await responses.events(responseId)).includes('Hello'));
}

function jobKey(responseId: string): string {
  return `${queuePrefix(responses.keys.prefix)}:${queueName(model)}:${responseId}`;
}

function lockKey(responseId: string): string {
  return `${jobKey(responseId)}:lock`;
}

/** Waits until BullMQ has put the job of a lost lock back. */
function foundStalled(responseId: string) {
  return eventually(async () => Number(await redis.client.hget(jobKey(responseId), 'stc')) > 0);
}

/** Takes the lock of a job away, as its expiry does. */
async function loseLock(responseId: string): Promise<void> {
  expect(await redis.client.del(lockKey(responseId))).toBe(1);
}

/** Waits until the worker has made the lock of a job last longer, so many times. */
async function lockRenewed(responseId: string, times: number): Promise<void> {
  let last = Number.POSITIVE_INFINITY;
  let renewals = 0;
  await eventually(async () => {
    const remainingMs = await redis.client.pttl(lockKey(responseId));
    if (remainingMs > last) renewals += 1;
    last = remainingMs;
    return renewals >= times;
  });
}

describe('two workers over one Redis', () => {
  it('run each response once', async () => {
    upstream.onChatCompletions(({ stream }) => answerWhole(stream(), 'Hello'));
    await Promise.all([startWorker(), startWorker()]);
    const ids = await Promise.all(
      Array.from({ length: 40 }, (_, at) => responses.accept({ streams: at % 2 === 0 })),
    );
    for (const id of ids) {
      const { end } = await responses.ended(id);
      expect(end).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'Hello' }] }] });
      expect(await responses.attempts(id)).toBe(1);
    }
    expect(upstream.requests).toHaveLength(ids.length);
  });

  it('stop without leaving anything running: what runs is finished, what waits goes to the other', async () => {
    const goOn = upstreamThatPauses();
    const first = await startWorker();
    const running = await responses.accept();
    await visible(running);
    const stopping = first.stop('terminated');
    await startWorker();
    const waiting = await responses.accept();
    await visible(waiting);
    expect((await responses.record(running)).status).toBe('in_progress');
    goOn.open();
    await within(stopping);
    expect((await responses.record(running)).end).toMatchObject({ status: 'completed' });
    expect(await responses.ended(waiting)).toMatchObject({ status: 'completed' });
    expect(upstream.requests).toHaveLength(2);
  });
});

describe('a worker that stops before its response is done', () => {
  it('hands it over when nothing of it was visible, and the attempt does not count', async () => {
    const goOn = upstreamThatPauses();
    const first = await startWorker({ drainTimeoutMs: 200 });
    const id = await responses.accept({ streams: false });
    await upstream.request(0);
    await within(first.stop('terminated'));
    expect(await upstream.requests[0]?.ended).toBe('aborted');
    expect(await responses.record(id)).toMatchObject({ status: 'in_progress', end: undefined });
    goOn.open();
    await startWorker();
    expect(await responses.ended(id)).toMatchObject({ status: 'completed' });
    expect(await responses.attempts(id)).toBe(1);
    expect(upstream.requests).toHaveLength(2);
  });

  it('ends it by the rules when something of it was', async () => {
    upstreamThatPauses();
    const worker = await startWorker({ drainTimeoutMs: 200 });
    const id = await responses.accept();
    await visible(id);
    await within(worker.stop('terminated'));
    expect((await responses.record(id)).end).toMatchObject({
      status: 'failed',
      error: { code: 'server_error' },
    });
    expect(checkEventGrammar(await responses.events(id))).toEqual([]);
  });

  it('can be stopped twice, and without having run anything', async () => {
    const worker = await startWorker();
    await worker.stop('terminated');
    await worker.stop('terminated');
  });
});

describe('a run that lasts longer than the lock it began with', () => {
  it('is left alone while the lock is renewed', async () => {
    const goOn = upstreamThatPauses();
    await startWorker({ lockMs: 1_500 });
    const id = await responses.accept({ streams: false });
    await upstream.request(0);
    // Each time after half of what it lasts.
    await lockRenewed(id, 3);
    goOn.open();
    expect(await responses.ended(id)).toMatchObject({ status: 'completed' });
    expect(await responses.attempts(id)).toBe(1);
  });
});

describe('a lock that is lost in the middle of a run', () => {
  it('costs neither the run nor another one while its worker lives', async () => {
    const goOn = upstreamThatPauses();
    await Promise.all([startWorker(), startWorker()]);
    const ids = [await responses.accept({ streams: false }), await responses.accept()];
    await upstream.request(1);
    for (const id of ids) await loseLock(id);
    // Each was found stalled and delivered again, to whichever worker.
    for (const id of ids) await foundStalled(id);
    goOn.open();
    for (const id of ids) {
      expect(await responses.ended(id)).toMatchObject({
        end: { status: 'completed', output: [{ content: [{ text: 'Hello there' }] }] },
      });
      expect(await responses.attempts(id)).toBe(1);
    }
    expect(upstream.requests).toHaveLength(2);
  });
});

describe('a job that outlived its response', () => {
  it('is removed as a worker starts, unless another one has looked through the queue just now', async () => {
    upstream.onChatCompletions(({ stream }) => answerWhole(stream(), 'Hello'));
    const { queue, keys } = responses;
    const name = queueName(model);
    const forgotten = ['1', '2'].map((digit) => `create-response_0${digit.repeat(32)}`);
    const isThere = () => Promise.all(forgotten.map((id) => queue.isDeferred(name, id)));
    await queue.defer(name, forgotten[0] ?? '');
    await startWorker();
    await eventually(async () => !(await isThere())[0]);

    await queue.defer(name, forgotten[1] ?? '');
    await site.workers.pop()?.stop('terminated');
    await startWorker();
    await responses.ended(await responses.accept());
    expect(await isThere()).toEqual([false, true]);
    // The worker that looked through it may be gone.
    expect(await redis.client.pttl(`${keys.prefix}forgotten-jobs:${name}`)).toBeGreaterThan(0);
  });
});

describe('a caller that leaves', () => {
  it('stops the upstream at once when the end is asked for', async () => {
    upstreamThatPauses();
    await startWorker();
    const id = await responses.accept();
    await visible(id);
    await responses.store.cancel(id, 'requested');
    expect(await within(upstream.requests[0]?.ended ?? Promise.reject(new Error('no call')))).toBe('aborted');
    expect(await responses.ended(id)).toMatchObject({ status: 'cancelled' });
    expect(checkEventGrammar(await responses.events(id))).toEqual([]);
  });

  it('by the death of its api stops the upstream when the lease lapses', async () => {
    upstreamThatPauses();
    await startWorker();
    const id = await responses.accept();
    await visible(id);
    await redis.client.del(responses.lease);
    expect(await responses.ended(id)).toMatchObject({ status: 'cancelled' });
    expect(await upstream.requests[0]?.ended).toBe('aborted');
  });

  it('while it waits never reaches the upstream', async () => {
    const id = await responses.accept({ withoutJob: true });
    await redis.client.del(responses.lease);
    // Found alone a minute ago: whatever grace there is has run.
    await redis.client.hset(responses.keys.record(id), 'left_at', Date.now() - 60_000);
    await responses.queue.enqueue(queueName(model), id, 1);
    await startWorker();
    expect(await responses.ended(id)).toMatchObject({ status: 'cancelled' });
    expect(upstream.requests).toEqual([]);
  });
});

describe('a response that nobody takes', () => {
  it('ends when it has waited for as long as it may, before the round that runs one whose job was lost', async () => {
    upstream.onChatCompletions(({ stream }) => answerWhole(stream(), 'Hello'));
    await startWorker();
    const lost = await responses.accept({ withoutJob: true });
    const id = await responses.accept({ queueMs: 2_000, withoutJob: true, background: true });
    await eventually(async () => (await responses.record(id)).end);
    expect((await responses.record(lost)).status).toBe('queued');
    expect(await responses.record(id)).toMatchObject({ end: { error: { code: 'timeout' } } });
    expect(await responses.ended(lost)).toMatchObject({ status: 'completed' });
  });
});

describe('what a dead process left', () => {
  it('fails without a run when its time in the queue is up, also without a job', async () => {
    const withJob = await responses.accept({ queueMs: -1 });
    const withoutJob = await responses.accept({ queueMs: -1, withoutJob: true });
    await startWorker();
    for (const id of [withJob, withoutJob]) {
      expect(await responses.ended(id)).toMatchObject({
        end: { status: 'failed', error: { code: 'timeout' } },
      });
      const events = await responses.events(id);
      expect(checkEventGrammar(events)).toEqual([]);
      expect(events.at(-2)).toMatchObject({ type: 'error' });
    }
    expect(upstream.requests).toEqual([]);
  });
});

describe('a worker that takes nothing from a queue that is not empty', () => {
  it('asks to be replaced, and names the queue', async () => {
    // BullMQ looks for delayed jobs before it takes one. This is no set of them, so it fails each time.
    await redis.client.set(`${queuePrefix(responses.keys.prefix)}:${queueName(model)}:delayed`, 'no set');
    const asked = latch<unknown>();
    // The worker looks every five seconds, of which the clock makes fifty.
    await startWorker({ now: () => performance.now() * 10, requestStop: (error) => asked.open(error) });
    await responses.accept();
    expect(String(await asked.wait())).toContain(`takes nothing from the queue '${model}'`);
  });
});
