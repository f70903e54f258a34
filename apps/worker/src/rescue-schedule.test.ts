import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RescueSchedule } from './rescue-schedule.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A schedule whose clock is that of the test, and what it has done so far. */
function scheduled() {
  const did: string[] = [];
  const errors: unknown[] = [];
  const store = { isOurs: true, isAway: false, due: undefined as number | undefined };
  const note = (what: string) => () => {
    did.push(what);
    return Promise.resolve(0);
  };
  const schedule = new RescueSchedule({
    lead: (leaseMs) => {
      if (store.isAway) return Promise.reject(new Error('away'));
      did.push(`lead ${leaseMs}`);
      return Promise.resolve(store.isOurs);
    },
    nextDue: () => Promise.resolve(store.due),
    rescue: {
      due: note('due'),
      round: note('round'),
      tend: async () => {
        did.push('tend');
      },
      startOver: () => did.push('start over'),
      stop: () => undefined,
    },
    storeNow: () => Date.now(),
    onError: (error) => errors.push(error),
  });
  const passing = async (ms: number) => {
    did.length = 0;
    await vi.advanceTimersByTimeAsync(ms);
    return [...did];
  };
  return { schedule, store, errors, passing };
}

describe('who rescues', () => {
  it('is the process with the lease: it starts over, and renews the lease long before it lapses', async () => {
    const { schedule, passing } = scheduled();
    schedule.start();
    expect(await passing(1_000)).toEqual(['lead 5000', 'start over', 'due', 'tend', 'round']);
    expect(await passing(1_000)).toEqual(['lead 5000', 'due', 'tend']);
  });

  it('is nobody without the lease, and starts over when it has it again', async () => {
    const { schedule, store, passing } = scheduled();
    schedule.start();
    await passing(1_000);
    store.isOurs = false;
    expect(await passing(1_000)).toEqual(['lead 5000']);
    store.isOurs = true;
    expect(await passing(1_000)).toEqual(['lead 5000', 'start over', 'due', 'tend']);
  });

  it('is another process at once when this one stops', async () => {
    const { schedule, passing } = scheduled();
    schedule.start();
    await passing(1_000);
    const stopped = schedule.stop();
    // A lease of a millisecond is none.
    expect(await passing(60_000)).toEqual(['lead 1']);
    await stopped;
  });

  it('goes on after a store that was away', async () => {
    const { schedule, store, errors, passing } = scheduled();
    schedule.start();
    store.isAway = true;
    expect(await passing(3_000)).toEqual([]);
    expect(errors).toHaveLength(3);
    store.isAway = false;
    expect(await passing(1_000)).toContain('due');
  });
});

describe('when it looks', () => {
  it('goes over all open responses every five seconds', async () => {
    const { schedule, passing } = scheduled();
    schedule.start();
    await passing(1_000);
    const later = await passing(20_000);
    expect(later.filter((what) => what === 'round')).toHaveLength(4);
  });

  it('is there when the next response is due', async () => {
    const { schedule, store, passing } = scheduled();
    schedule.start();
    store.due = Date.now() + 1_300;
    await passing(1_000);
    expect(await passing(300)).toEqual([]);
    store.due = undefined;
    expect(await passing(1)).toEqual(['lead 5000', 'due', 'tend']);
  });
});
