import { latch } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OpenRequests } from './open-requests.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** A request that ends when it is interrupted. */
function untilInterrupted(interrupted: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) =>
    interrupted.addEventListener('abort', () => reject(interrupted.reason)),
  );
}

describe('requests under way', () => {
  it('are counted until they end, well or not', async () => {
    const open = new OpenRequests();
    const goOn = latch();
    const good = open.run(() => goOn.wait());
    const bad = open.run(async () => {
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
    const request = open.run(async (interrupted) => {
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
    const request = expect(open.run(untilInterrupted)).rejects.toThrow('The server is stopping');
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
