import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HeldLocks } from './held-locks.ts';

let locks: HeldLocks | undefined;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  locks?.stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

function heldLocks(lockMs: number): HeldLocks {
  locks = new HeldLocks({ lockMs, now: () => performance.now() });
  locks.start();
  return locks;
}

describe('a lock', () => {
  it('is lost when the store says so, and no other with it', () => {
    const held = heldLocks(10_000);
    const [one, other] = [held.add('one'), held.add('other')];
    held.lost(['one', 'unknown']);
    expect(one.aborted).toBe(true);
    expect(other.aborted).toBe(false);
  });

  it('that is not held any more hears nothing', () => {
    const held = heldLocks(10_000);
    const signal = held.add('one');
    held.remove('one');
    held.lost(['one']);
    expect(signal.aborted).toBe(false);
    expect(held.size).toBe(0);
  });

  // From the shortest one that the settings allow: it, too, must outlast renewals that come late.
  it.each([3_000, 4_000, 10_000, 60_000])('of %i ms is kept while it is renewed in time', (lockMs) => {
    const held = heldLocks(lockMs);
    const signal = held.add('one');
    for (let renewals = 0; renewals < 20; renewals++) {
      vi.advanceTimersByTime(lockMs * 0.6);
      held.renewed(['one', 'gone']);
    }
    expect(signal.aborted).toBe(false);
  });

  it.each([3_000, 4_000, 10_000, 60_000])(
    'of %i ms is given up before it lapses when no renewal is answered',
    (lockMs) => {
      const held = heldLocks(lockMs);
      const silent = held.add('silent');
      vi.advanceTimersByTime(lockMs / 3);
      const renewed = held.add('renewed');
      vi.advanceTimersByTime(lockMs / 3 - 1);
      held.renewed(['renewed']);
      expect(silent.aborted).toBe(false);
      vi.advanceTimersByTime(lockMs / 3);
      expect(silent.aborted).toBe(true);
      expect(renewed.aborted).toBe(false);
    },
  );
});

it('may be started and stopped twice', () => {
  const held = heldLocks(10_000);
  held.start();
  expect(vi.getTimerCount()).toBe(1);
  held.stop();
  held.stop();
});
