import { hostname } from 'node:os';
import { Writable } from 'node:stream';
import { type JournalLine, journalKey, parseEntry } from '@sluice/journal';
import { createLogger } from '@sluice/runtime';
import { eventually, type FakeUpstream, startFakeUpstream, testRedis, type TestRedis } from '@sluice/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { WorkerProcess } from '../src/worker-process.ts';
import { acceptedResponses, type AcceptedResponses } from './accepted-responses.ts';
import { listeningWorker } from './listening-worker.ts';

let redis: TestRedis;
let upstream: FakeUpstream;
let responses: AcceptedResponses;
let worker: WorkerProcess | undefined;
let log = '';

beforeEach(async () => {
  redis = await testRedis();
  upstream = await startFakeUpstream();
  responses = await acceptedResponses(redis, 'm');
  log = '';
});
afterEach(async () => {
  await worker?.stop('terminated');
  await responses.close();
  await upstream.close();
  await redis.close();
});

async function startWorker(): Promise<void> {
  const file = `
providers: [{ id: fake, type: openai-chat, baseUrl: '${upstream.baseUrl}' }]
models: [{ id: m, routes: [{ provider: fake, model: upstream-model }] }]
recovery: { maxAttempts: 1 }
`;
  const destination = new Writable({
    write(chunk, _encoding, done) {
      log += String(chunk);
      done();
    },
  });
  const logger = createLogger({ name: 'worker', level: 'info', destination });
  ({ worker } = listeningWorker(redis, file, { logger }));
  await worker.start(new AbortController().signal);
}

async function linesOf(responseId: string): Promise<JournalLine[]> {
  const entries = await redis.client.xrange(journalKey(responses.keys.prefix), '-', '+');
  return entries
    .flatMap(([, fields]) => parseEntry(fields[1] ?? '') ?? [])
    .filter(({ subject }) => responseId.endsWith(subject))
    .flatMap(({ lines }) => lines);
}

it('the reason of an upstream is in the log and in the journal, without a word of the request, and nowhere else', async () => {
  upstream.onChatCompletions(({ json }) =>
    json(500, { error: { message: 'CUDA out of memory on GPU 3 for canary-7f3a, client 10.9.8.7' } }),
  );
  await startWorker();
  const id = await responses.accept({ text: 'Tell me of canary-7f3a.' });
  const { end } = await responses.ended(id);
  const failed = await eventually(async () => (await linesOf(id)).find(({ what }) => what === 'failed'));
  expect(failed).toMatchObject({
    upstreamStatus: 500,
    reason: 'CUDA out of memory on GPU 3 for …, client [address]',
  });
  expect(log).toContain('"reason":"CUDA out of memory on GPU 3 for …, client [address]"');
  expect(log).not.toMatch(/canary|7f3a|10\.9\.8/);
  // The caller has the fixed sentence, in the record, in the events and in the answer that is made of them.
  expect(JSON.stringify([end, await responses.events(id)])).not.toMatch(/CUDA|GPU/);
  // The claim says which process it was, as the overview lists it.
  expect((await linesOf(id)).find(({ what }) => what === 'claimed')).toMatchObject({
    host: hostname(),
    pid: process.pid,
  });
});
