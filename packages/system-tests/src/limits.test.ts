import { eventually, type FakeUpstream, latch, type Latch, startFakeUpstream } from '@sluice/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { type Service, startService } from './service.ts';

let upstream: FakeUpstream;
let service: Service;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  service = await startService({
    apis: 4,
    workers: 3,
    settings: {
      keys: [
        { name: 'free', key: 'sk-free-0123456789abcdef' },
        { name: 'limited', key: 'sk-limited-0123456789ab', limits: { requestsPerMinute: 20 } },
        { name: 'budgeted', key: 'sk-budgeted-0123456789a', limits: { tokensPerDay: budget } },
      ],
      providers: [
        { id: 'upstream', type: 'openai-chat', baseUrl: upstream.baseUrl },
        { id: 'local', type: 'simulator', firstTokenMs: 0, tokensPerSecond: 0 },
      ],
      models: [
        { id: 'narrow', routes: [{ provider: 'upstream' }], concurrency: 3 },
        { id: 'simulator', routes: [{ provider: 'local' }] },
      ],
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await upstream?.close();
});

const callerFor = (at: number, key: string) => callerOf(service.apiUrls[at % 4] ?? '', key);

/** Tokens of a day. */
const budget = 1_000;

it("a model's concurrency holds over all workers", async () => {
  const held: Latch[] = [];
  let open = 0;
  let most = 0;
  upstream.onChatCompletions(async ({ stream }) => {
    open += 1;
    most = Math.max(most, open);
    const gate = latch();
    held.push(gate);
    await gate.wait({ timeoutMs: 60_000 });
    const answer = stream();
    await answer.send({ choices: [{ index: 0, delta: { content: 'Done.' }, finish_reason: 'stop' }] });
    open -= 1;
    answer.done();
  });
  const key = 'sk-free-0123456789abcdef';
  const pending = Array.from({ length: 30 }, (_, at) =>
    callerFor(at, key).create({ model: 'narrow', input: `Number ${at}.` }),
  );
  for (let released = 0; released < 30; released++) {
    await eventually(() => held.length >= Math.min(released + 3, 30));
    // Workers take this one after the rest was queued, so a fourth call would have come before its answer.
    const probes = await Promise.all([0, 1, 2].map((at) => callerFor(at, key).create({ input: 'Probe.' })));
    expect(probes.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(open).toBeLessThanOrEqual(3);
    held[released]?.open();
  }
  const answers = await Promise.all(pending);
  expect(answers.map(({ body }) => body.output_text)).toEqual(Array.from({ length: 30 }, () => 'Done.'));
  expect(most).toBe(3);
});

it('a limit of requests a minute is exact over four apis', async () => {
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, at) =>
      callerFor(at, 'sk-limited-0123456789ab').create(
        { input: `Number ${at}.` },
        { mount: at % 3 === 0 ? '/api/v1' : '/v1' },
      ),
    ),
  );
  const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
  expect(statuses).toEqual([
    ...Array.from({ length: 20 }, () => 200),
    ...Array.from({ length: 40 }, () => 429),
  ]);
  const remaining = answers
    .filter(({ status }) => status === 200)
    .map(({ headers }) => Number(headers.get('x-ratelimit-remaining-requests')));
  expect(remaining.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at));
});

it('a budget is exact over four apis under ten times the load', async () => {
  // Each takes what is reserved for it, so that nothing is given back.
  const ask = (at: number) =>
    callerFor(at, 'sk-budgeted-0123456789a').create({
      input: 'Say something. [[sluice: tokens=16]]',
      max_output_tokens: 16,
    });
  const first = await ask(0);
  const unit = first.body.usage?.total_tokens ?? 0;
  const answers = await Promise.all(
    Array.from({ length: Math.ceil((10 * budget) / unit) }, (_, at) => ask(at)),
  );
  const taken = [first, ...answers].filter(({ status }) => status === 200);
  expect(taken.every(({ body }) => body.usage?.total_tokens === unit)).toBe(true);
  expect(taken).toHaveLength(Math.floor(budget / unit));
  const refused = answers.filter(({ status }) => status !== 200);
  expect(new Set(refused.map(({ status, body }) => `${status} ${body.error?.code}`))).toEqual(
    new Set(['429 insufficient_quota']),
  );
});
