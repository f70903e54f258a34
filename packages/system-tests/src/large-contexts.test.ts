import { forAllTests, eventually, latch, startFakeUpstream } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { hostile, neighbour, smallHeapService } from './small-heap-service.ts';

/** Most of the heap of a worker, in MiB. All contexts together take several times as much. */
const heapMiB = 160;
const responses = 12;
const largeBytes = 9_000_000;
const smallBytes = 9_000;

/** A prompt of more bytes than this comes with the large context. */
const isLarge = (body: unknown) => JSON.stringify(body).length > smallBytes / 2;

const upstream = forAllTests(startFakeUpstream);
const service = smallHeapService(upstream, { heapMiB, workerConcurrency: 2 * responses });

/** From now on the upstream answers prompts with the context, but for the first, once `answer` is open, and others at once. */
function holdAnswers() {
  const answer = latch();
  const calls = { underWay: 0, most: 0 };
  let isFirst = true;
  upstream.onChatCompletions(async ({ request, stream }) => {
    if (isLarge(request.body) && !isFirst) {
      calls.underWay += 1;
      calls.most = Math.max(calls.most, calls.underWay);
      await answer.wait({ timeoutMs: 120_000 });
      calls.underWay -= 1;
    }
    isFirst = false;
    const out = stream();
    await out.send({ choices: [{ index: 0, delta: { content: 'Well.' }, finish_reason: 'stop' }] });
    out.done();
  });
  return { answer, calls };
}

describe.each([
  // The control.
  ['small', smallBytes, responses],
  ['large', largeBytes, 1],
] as const)('short requests of one tenant that continue from a %s one', (_size, bytes, atOnce) => {
  it('end no worker, keep no neighbour waiting, and are all answered', async () => {
    const { answer, calls } = holdAnswers();
    const url = service.apiUrls[0] ?? '';
    const caller = callerOf(url, hostile);
    const { body: first } = await caller.create({ model: 'm', input: 'x'.repeat(bytes) });
    const accepted = await Promise.all(
      Array.from({ length: responses }, () =>
        caller.create({ model: 'm', input: 'Go on', previous_response_id: first.id, background: true }),
      ),
    );
    expect(accepted.map(({ status }) => status)).toEqual(accepted.map(() => 200));
    await eventually(() => calls.underWay === atOnce, { timeoutMs: 60_000 });
    for (let asked = 0; asked < 20; asked += 1) {
      const { body } = await callerOf(url, neighbour).create({ model: 'm', input: 'Hi' });
      expect(body.status).toBe('completed');
    }
    expect(calls.most).toBe(atOnce);
    answer.open();
    await eventually(
      async () => {
        const ends = await Promise.all(accepted.map(({ body }) => caller.get(body.id)));
        return ends.every(({ body }) => body.status === 'completed');
      },
      { timeoutMs: 120_000 },
    );
    expect(calls.most).toBe(atOnce);
    expect(service.workers[0]?.isRunning()).toBe(true);
  }, 240_000);
});
