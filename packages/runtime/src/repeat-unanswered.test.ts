import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { repeatUnanswered } from './repeat-unanswered.ts';

const lost = () => Promise.reject(new Error('Reached the max retries per request limit (which is 0).'));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** What it came to, after as long as it may take. */
async function outcome<Result>(work: Promise<Result>): Promise<Result | string> {
  const settled = work.catch((error: unknown) => (error instanceof Error ? error.message : 'no error'));
  await vi.advanceTimersByTimeAsync(2_000);
  return settled;
}

const giveUpAt = () => performance.now() + 1_000;

describe('a step whose reply is missing', () => {
  it('is done again until there is one', async () => {
    const step = vi.fn<() => Promise<string>>(() => Promise.resolve('done'));
    step.mockImplementationOnce(lost).mockImplementationOnce(lost);
    expect(await outcome(repeatUnanswered(step, { giveUpAt: giveUpAt() }))).toBe('done');
    expect(step).toHaveBeenCalledTimes(3);
  });

  it('fails with its first error when the time is over', async () => {
    const step = vi.fn<() => Promise<string>>(lost);
    step.mockImplementationOnce(() => Promise.reject(new Error('Command timed out')));
    expect(await outcome(repeatUnanswered(step, { giveUpAt: giveUpAt() }))).toBe('Command timed out');
    expect(step.mock.calls.length).toBeLessThan(12);
  });

  it('is not waited for past the time', async () => {
    const step = vi.fn<() => Promise<string>>(() => new Promise(() => undefined));
    step.mockImplementationOnce(lost);
    expect(await outcome(repeatUnanswered(step, { giveUpAt: giveUpAt() }))).toMatch(/^Reached the max/);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is not repeated where a first failure is final, or the reply is an error', async () => {
    const step = vi.fn<() => Promise<string>>(lost);
    await outcome(repeatUnanswered(step, { giveUpAt: giveUpAt(), isFinal: () => true }));
    expect(step).toHaveBeenCalledTimes(1);
    step.mockImplementation(() => Promise.reject(new Error('OOM command not allowed')));
    step.mockImplementationOnce(lost);
    expect(await outcome(repeatUnanswered(step, { giveUpAt: giveUpAt() }))).toMatch(/^OOM/);
    expect(step).toHaveBeenCalledTimes(3);
  });
});
