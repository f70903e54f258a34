import { hostname } from 'node:os';
import { type JournalLine, journalKey, parseEntry } from '@sluice/journal';
import { createLogger } from '@sluice/runtime';
import { eventually, type FakeUpstream } from '@sluice/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listeningWorker } from './listening-worker.ts';
import { model, startUpstreamSite, type UpstreamSite } from './upstream-site.ts';

let site: UpstreamSite;
let log = '';

beforeEach(async () => {
  site = await startUpstreamSite();
  log = '';
});
afterEach(() => site.stop());

async function startWorker(upstream: FakeUpstream): Promise<void> {
  const file = `
providers: [{ id: fake, type: openai-chat, baseUrl: '${upstream.baseUrl}' }]
models: [{ id: ${model}, routes: [{ provider: fake, model: upstream-model }] }]
recovery: { maxAttempts: 1 }
`;
  const destination = { write: (line: string) => void (log += line) };
  const logger = createLogger({ name: 'worker', level: 'info', destination });
  const { worker } = listeningWorker(site.redis, file, { logger });
  site.workers.push(worker);
  await worker.start(new AbortController().signal);
}

async function linesOf(responseId: string): Promise<JournalLine[]> {
  const { redis, responses } = site;
  const entries = await redis.client.xrange(journalKey(responses.keys.prefix), '-', '+');
  return entries
    .flatMap(([, fields]) => parseEntry(fields[1] ?? '') ?? [])
    .filter(({ subject }) => responseId.endsWith(subject))
    .flatMap(({ lines }) => lines);
}

it('the reason of an upstream is in the log and in the journal, without a word of the request, and nowhere else', async () => {
  const { responses } = site;
  const upstream = await site.upstream(({ json }) =>
    json(500, { error: { message: 'CUDA out of memory on GPU 3 for canary-7f3a, client 10.9.8.7' } }),
  );
  await startWorker(upstream);
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
