import { createHash } from 'node:crypto';
import { expect, inject, it } from 'vitest';
import type { BadRequest } from './bad-request.ts';
import { badRequests } from './bad-requests.ts';
import { judgeAnswer } from './judge-answer.ts';
import { runCorpus } from './run-corpus.ts';

/** Rerun a failure with `npm run test:faults -- --corpus --seed <seed>`. */
const seed = Date.now() % 1_000_000;

it(`refuses a thousand bad requests by name, and no neighbour is refused (seed ${seed})`, async () => {
  const { sent, statuses, times, problems } = await runCorpus({
    requests: 1_000,
    seed,
    redisUrl: inject('redisUrl'),
    isCompared: false,
  });
  expect(problems).toEqual([]);
  expect(sent).toBe(1_000);
  expect(times.bad.length).toBeGreaterThan(0);
  // Most of the corpus is wrong, and some of it is valid: otherwise it would test nothing.
  expect(statuses.get(400)).toBeGreaterThan(500);
  expect(statuses.get(200)).toBeGreaterThan(10);
});

it('makes the same requests from the same seed, and no request twice', () => {
  const take = (from: number) => {
    const corpus = badRequests(from, 'sk-test');
    return Array.from({ length: 2_000 }, () => {
      const { method, path, headers, body } = corpus.next().value;
      // Some bodies have megabytes.
      const ofBody = createHash('sha256')
        .update(body ?? '')
        .digest('base64');
      return JSON.stringify([method, path, headers, ofBody]);
    });
  };
  const made = take(1);
  expect(take(1)).toEqual(made);
  expect(new Set(made).size).toBe(2_000);
  expect(take(2)).not.toEqual(made);
});

it('counts an answer that no client should get', () => {
  const request: BadRequest = {
    what: 'x',
    method: 'POST',
    path: '/v1/responses',
    headers: [],
    body: undefined,
    verdict: { kind: 'refused', param: 'top_p' },
  };
  const envelope = (param: string | null) =>
    JSON.stringify({
      error: { message: 'No.', type: 'invalid_request_error', param, code: 'invalid_value' },
    });
  const judged = (status: number, text: string, headers = new Map<string, string>()) =>
    judgeAnswer(request, { status, headers, text, isClosed: true });
  expect(judged(400, envelope('top_p'))).toEqual([]);
  expect(judged(400, envelope(null))).toHaveLength(1);
  expect(judged(400, 'Bad Request')).toHaveLength(1);
  expect(judged(200, '{}')).toHaveLength(1);
  expect(judged(500, envelope('top_p'))).toHaveLength(1);
  expect(judged(503, envelope('top_p'))).toHaveLength(1);
  expect(judged(503, envelope('top_p'), new Map([['retry-after', '1']]))).toEqual([]);
  expect(judged(0, '')).toHaveLength(1);
});
