import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Attempts, BaseUrls, defaultRetryPolicy } from './attempts.ts';
import { ApiError, type ApiErrorFacts, ConnectionError } from './errors.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const noAnswer = new ConnectionError('no answer');
const refusal = (facts: Partial<ApiErrorFacts>) =>
  new ApiError('no', {
    status: 503,
    code: null,
    type: null,
    param: null,
    requestId: null,
    retryAfterMs: undefined,
    shouldRetry: undefined,
    ...facts,
  });

function attemptsAt(names: readonly string[], signal?: AbortSignal) {
  const urls = new BaseUrls(names);
  const attempts = new Attempts({ policy: defaultRetryPolicy, urls, signal, random: () => 1 });
  /** How long the wait after a failure is, in milliseconds. */
  const waitAfter = async (error: unknown) => {
    const before = Date.now();
    const measured = async () => {
      await attempts.failed(error, urls.current);
      return Date.now() - before;
    };
    const waited = measured();
    await vi.runAllTimersAsync();
    return waited;
  };
  return { urls, attempts, waitAfter };
}

describe('an attempt that failed', () => {
  it('is followed by others after ever longer waits, up to a bound', async () => {
    const { waitAfter } = attemptsAt(['a']);
    const waits = [];
    for (let at = 0; at < 8; at += 1) waits.push(await waitAfter(noAnswer));
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
  });

  it('is followed by one at each other base URL at once', async () => {
    const { urls, waitAfter } = attemptsAt(['a/', 'b', 'c']);
    expect([urls.current, await waitAfter(noAnswer)]).toEqual(['a', 0]);
    expect([urls.current, await waitAfter(noAnswer)]).toEqual(['b', 0]);
    expect([urls.current, await waitAfter(noAnswer)]).toEqual(['c', 250]);
    expect([urls.current, await waitAfter(noAnswer)]).toEqual(['a', 0]);
  });

  it('waits as long as the server asks, at the same base URL when a limit is reached', async () => {
    const { urls, waitAfter } = attemptsAt(['a', 'b']);
    expect(await waitAfter(refusal({ status: 429, retryAfterMs: 30_000 }))).toBe(30_000);
    expect(urls.current).toBe('a');
  });

  it('is the last when no wait helps', async () => {
    const { attempts } = attemptsAt(['a']);
    const last = [
      refusal({ status: 400 }),
      refusal({ status: 404 }),
      refusal({ status: 429 }),
      refusal({ status: 500, shouldRetry: false }),
      refusal({ status: 503, retryAfterMs: 3_600_000 }),
      new TypeError('a defect'),
    ];
    for (const error of last) await expect(attempts.failed(error, 'a')).rejects.toBe(error);
  });

  it('is the last when there were too many in a row', async () => {
    const { attempts, waitAfter } = attemptsAt(['a']);
    for (let at = 0; at < 9; at += 1) await waitAfter(noAnswer);
    await expect(attempts.failed(noAnswer, 'a')).rejects.toBe(noAnswer);
    attempts.succeeded();
    expect(await waitAfter(noAnswer)).toBe(250);
  });

  it('is the last when the caller has left, also in the middle of a wait', async () => {
    const leaving = new AbortController();
    const { attempts } = attemptsAt(['a'], leaving.signal);
    const failed = expect(attempts.failed(noAnswer, 'a')).rejects.toThrow('enough');
    leaving.abort(new Error('enough'));
    await failed;
    await expect(attempts.failed(noAnswer, 'a')).rejects.toThrow('enough');
  });
});
