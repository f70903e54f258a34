import { forAllTests, eventually, startFakeUpstream } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { promptOf } from './scripted-upstream.ts';
import { hostile, neighbour, smallHeapService } from './small-heap-service.ts';

/** Most of the heap of a worker, in MiB. All answers together are several times as large. */
const heapMiB = 128;
const mostAnswers = 16;
const answerBytes = 6_000_000;
const pieceBytes = 16_000;

const chunkOf = (delta: object, finish: 'stop' | null = null, more: object = {}) => ({
  choices: [{ index: 0, delta, finish_reason: finish, ...more }],
});

const logprob = (token: string) => ({ token, logprob: -1.2345, bytes: [...Buffer.from(token)] });

/** Pieces as an upstream may send them: long texts, and short ones with the probabilities of many others. */
const pieces = {
  text: { chunk: chunkOf({ content: 'x'.repeat(pieceBytes) }), bytes: pieceBytes },
  logprobs: {
    chunk: chunkOf({ content: 'word' }, null, {
      logprobs: {
        content: [{ ...logprob('word'), top_logprobs: Array.from({ length: 20 }, () => logprob('word')) }],
      },
    }),
    // As the limit counts them: see `OutputMeter`.
    bytes: 21 * 64,
  },
};

const upstream = forAllTests(startFakeUpstream);
beforeAll(() => {
  upstream.onChatCompletions(async ({ request, stream, signal }) => {
    const out = stream();
    const { chunk, bytes } = promptOf(request).includes('logprobs') ? pieces.logprobs : pieces.text;
    const atOnce = Math.ceil(64_000 / bytes);
    const written = `data: ${JSON.stringify(chunk)}\n\n`.repeat(atOnce);
    const most = promptOf(request).includes('large') ? answerBytes : bytes;
    for (let sent = 0; sent < most && !signal.aborted; sent += atOnce * bytes) await out.raw(written);
    await out.send(chunkOf({}, 'stop'));
    out.done();
  });
});
const service = smallHeapService(upstream, { heapMiB, workerConcurrency: 2 * mostAnswers });

/** How many responses of a worker have ended in a status. */
async function ended(status: string): Promise<number> {
  const [worker] = service.workers;
  const text = await (await fetch(`${worker?.healthUrl}/metrics`)).text();
  const [, count = 0] =
    new RegExp(`^sluice_responses_total\\{.*status="${status}".*\\} (\\d+)$`, 'm').exec(text) ?? [];
  return Number(count);
}

describe.each([
  // The control.
  ['text', 'small', mostAnswers],
  ['text', 'large', mostAnswers],
  // Half as many end a worker that lets all of them grow: each probability takes many times its bytes.
  ['logprobs', 'large', mostAnswers / 2],
] as const)('many answers at once that are of %s and %s', (kind, size, answers) => {
  it('end no worker, and no neighbour goes without its own', async () => {
    const url = service.apiUrls[0] ?? '';
    const before = await ended('completed');
    const logprobs = kind === 'logprobs' && { include: ['message.output_text.logprobs'], top_logprobs: 20 };
    // Nobody waits for them, so the api has none in hand.
    const accepted = await Promise.all(
      Array.from({ length: answers }, () =>
        callerOf(url, hostile).create({
          model: 'm',
          input: `${size} ${kind}`,
          background: true,
          ...logprobs,
        }),
      ),
    );
    expect(accepted.map(({ status }) => status)).toEqual(accepted.map(() => 200));
    let answered = 0;
    const isOver = async () => (await ended('completed')) >= before + answers + answered;
    await eventually(
      async () => {
        const { body } = await callerOf(url, neighbour).create({ model: 'm', input: 'small text' });
        expect(body.status).toBe('completed');
        answered += 1;
        expect(service.workers[0]?.isRunning()).toBe(true);
        return isOver();
      },
      { timeoutMs: 200_000 },
    );
    expect(answered).toBeGreaterThan(0);
    expect(await ended('failed')).toBe(0);
  }, 240_000);
});
