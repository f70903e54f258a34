import { DelayedError, UnrecoverableError, WaitingError } from 'bullmq';
import { describe, expect, it, vi } from 'vitest';
import { type Outcome, settle } from './outcome.ts';

/** A job that notes how it was moved. */
function movable() {
  const moveToWait = vi.fn<(token?: string) => Promise<unknown>>(() => Promise.resolve());
  const moveToDelayed = vi.fn<(timestamp: number, token?: string) => Promise<void>>(() => Promise.resolve());
  const changePriority = vi.fn<(options: { priority: number }) => Promise<void>>(() => Promise.resolve());
  return { moveToWait, moveToDelayed, changePriority };
}

async function thrownBy(outcome: Outcome, job = movable()): Promise<unknown> {
  return settle(outcome, job, 'token').then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('outcome', () => {
  it('returns nothing when it is settled', async () => {
    expect(await settle({ kind: 'settled' }, movable(), 'token')).toBeUndefined();
  });

  it('fails a job with the code alone, for good', async () => {
    const error = await thrownBy({ kind: 'failed', code: 'model_error' });
    expect(error).toBeInstanceOf(UnrecoverableError);
    expect(error).toMatchObject({ message: 'model_error' });
    expect(error).not.toHaveProperty('stack', expect.stringContaining('outcome'));
  });

  it('moves a job that is given back, under the token of its lock', async () => {
    const job = movable();
    expect(await thrownBy({ kind: 'given_back' }, job)).toBeInstanceOf(WaitingError);
    expect(job.moveToWait).toHaveBeenCalledExactlyOnceWith('token');
  });

  it('delays a job that is for later', async () => {
    const job = movable();
    const before = Date.now();
    expect(await thrownBy({ kind: 'later', afterMs: 5_000 }, job)).toBeInstanceOf(DelayedError);
    const [timestamp, token] = job.moveToDelayed.mock.calls[0] ?? [];
    expect(timestamp).toBeGreaterThanOrEqual(before + 5_000);
    expect(token).toBe('token');
    expect(job.changePriority).not.toHaveBeenCalled();
  });

  it('gives a job its new priority before it may come back', async () => {
    const job = movable();
    job.changePriority.mockImplementation(async () => expect(job.moveToDelayed).not.toHaveBeenCalled());
    expect(await thrownBy({ kind: 'later', afterMs: 0, priority: 7 }, job)).toBeInstanceOf(DelayedError);
    expect(job.changePriority).toHaveBeenCalledExactlyOnceWith({ priority: 7 });
    expect(job.moveToDelayed).toHaveBeenCalledOnce();
  });

  it('says so when a job could not be moved', async () => {
    const job = movable();
    job.moveToWait.mockRejectedValue(new Error('Missing lock'));
    expect(await thrownBy({ kind: 'given_back' }, job)).toMatchObject({ message: 'Missing lock' });
  });
});
