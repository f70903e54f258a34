import { latch } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OpenRequests } from './open-requests.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Runs a request, with a signal that is aborted when it is interrupted. */
async function run<Result>(
  open: OpenRequests,
  request: (interrupted: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const underWay = open.begin(() => controller.abort(new Error('The server is stopping')));
  try {
    return await request(controller.signal);
  } finally {
    underWay.end();
  }
}

/** A request that ends when it is interrupted. */
function untilInterrupted(interrupted: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) =>
    interrupted.addEventListener('abort', () => reject(interrupted.reason)),
  );
}

describe('the callers of a process', () => {
  it('are as many as may be, half of them of one tenant', () => {
    const open = new OpenRequests(4);
    const enter = (tenant: string) => () => open.enter(tenant);
    const leave = open.enter('hostile');
    open.enter('hostile');
    expect(enter('hostile')).toThrow(expect.objectContaining({ code: 'rate_limit_exceeded' }));
    open.enter('quiet');
    open.enter('another');
    expect(enter('last')).toThrow(expect.objectContaining({ code: 'server_is_overloaded' }));
    leave();
    leave();
    open.enter('last');
    expect(enter('last')).toThrow(expect.objectContaining({ code: 'server_is_overloaded' }));
  });
});

describe('requests under way', () => {
  it('are counted until they end, well or not', async () => {
    const open = new OpenRequests();
    const goOn = latch();
    const good = run(open, () => goOn.wait());
    const bad = run(open, async () => {
      await goOn.wait();
      throw new Error('no');
    });
    expect(open.size).toBe(2);
    goOn.open();
    await good;
    await expect(bad).rejects.toThrow('no');
    expect(open.size).toBe(0);
  });

  it('are waited for, and not interrupted in time', async () => {
    const open = new OpenRequests();
    const goOn = latch();
    let isInterrupted = false;
    const request = run(open, async (interrupted) => {
      interrupted.addEventListener('abort', () => {
        isInterrupted = true;
      });
      await goOn.wait();
    });
    const drained = open.drain(1_000);
    vi.advanceTimersByTime(999);
    goOn.open();
    await Promise.all([request, drained]);
    expect(isInterrupted).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('are interrupted when the grace is over', async () => {
    const open = new OpenRequests();
    const request = expect(run(open, untilInterrupted)).rejects.toThrow('The server is stopping');
    const drained = open.drain(1_000);
    vi.advanceTimersByTime(1_000);
    await Promise.all([request, drained]);
    expect(open.size).toBe(0);
  });

  it('that are none hold nobody up', async () => {
    await new OpenRequests().drain(1_000);
    expect(vi.getTimerCount()).toBe(0);
  });
});
