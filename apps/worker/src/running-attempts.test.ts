import type { LeaseState } from '@sluice/response-store';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { abortReason } from './abort-reasons.ts';
import { RunningAttempts } from './running-attempts.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

const begun: RunningAttempts[] = [];

afterEach(async () => {
  await Promise.all(begun.splice(0).map((running) => running.stop()));
  vi.useRealTimers();
});

interface Store {
  states: Map<string, LeaseState>;
  /** Set while the store does not answer. */
  failure: Error | undefined;
  /** Set while a question stays open until `answer` is called. */
  isSilent: boolean;
  answer: () => void;
  questions: number;
  batches: number[];
  released: { token: string; isCounted: boolean }[];
  /** Everything that was told of pending releases. */
  told: boolean[];
}

function setUp() {
  const store: Store = {
    states: new Map(),
    failure: undefined,
    isSilent: false,
    answer: () => undefined,
    questions: 0,
    batches: [],
    released: [],
    told: [],
  };
  const errors: unknown[] = [];
  const running = new RunningAttempts({
    log: {
      checkLeases: (held) => {
        store.questions += 1;
        if (store.isSilent) {
          return new Promise((resolve) => {
            store.answer = () => resolve(held.map(() => 'ok'));
          });
        }
        if (store.failure) return Promise.reject(store.failure);
        if (held.length > 0) store.batches.push(held.length);
        return Promise.resolve(held.map(({ responseId }) => store.states.get(responseId) ?? 'ok'));
      },
      release: ({ token }, { isCounted }) => {
        if (store.failure) return Promise.reject(store.failure);
        store.released.push({ token, isCounted });
        return Promise.resolve(true);
      },
    },
    outageMs: 60_000,
    onError: (error) => errors.push(error),
    onReleases: (arePending) => store.told.push(arePending),
  });
  running.start();
  begun.push(running);
  const add = (responseId: string, token = 'token') => {
    const controller = new AbortController();
    return { signal: controller.signal, remove: running.add(responseId, token, controller) };
  };
  return { running, store, errors, add };
}

describe('an attempt that is registered', () => {
  it('hears at once that its end was asked for', () => {
    const { running, add } = setUp();
    const { signal } = add('a');
    running.abort('a', 'cancelled');
    expect(abortReason(signal)).toBe('cancelled');
  });

  it('does not hear that the end of another one was asked for', () => {
    const { running, add } = setUp();
    const { signal } = add('a');
    running.abort('b', 'cancelled');
    expect(signal.aborted).toBe(false);
  });

  it('hears nothing any more when it is taken out', () => {
    const { running, add } = setUp();
    const { signal, remove } = add('a');
    remove();
    running.abort('a', 'cancelled');
    running.interruptAll();
    expect(signal.aborted).toBe(false);
    expect(running.size).toBe(0);
  });

  it('stays when an older one of the same response is taken out', () => {
    const { running, add } = setUp();
    const older = add('a', 'old');
    const newer = add('a', 'new');
    older.remove();
    running.abort('a', 'cancelled');
    expect(newer.signal.aborted).toBe(true);
  });

  it('keeps the first reason', () => {
    const { running, add } = setUp();
    const { signal } = add('a');
    running.abort('a', 'superseded');
    running.abort('a', 'cancelled');
    expect(abortReason(signal)).toBe('superseded');
  });
});

describe('the look at the record', () => {
  it('finds a cancellation within a second when the message was lost', async () => {
    const { store, add } = setUp();
    const { signal } = add('a');
    store.states.set('a', 'cancelled');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(abortReason(signal)).toBe('cancelled');
  });

  it('finds that another attempt has taken over', async () => {
    const { store, add } = setUp();
    const lost = add('a');
    const kept = add('b');
    store.states.set('a', 'superseded');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(abortReason(lost.signal)).toBe('superseded');
    expect(kept.signal.aborted).toBe(false);
  });

  it('goes over all of them', async () => {
    const { store, add } = setUp();
    const attempts = Array.from({ length: 250 }, (_, at) => add(`r${at}`));
    store.states.set('r249', 'cancelled');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(store.batches).toEqual([250]);
    expect(attempts.filter(({ signal }) => signal.aborted)).toHaveLength(1);
  });

  it('leaves alone an attempt that took the place of the one it asked about', async () => {
    const { store, add } = setUp();
    const first = add('a', 'first');
    store.states.set('a', 'superseded');
    // The timer fires and asks; the answer arrives after the change below.
    vi.advanceTimersByTime(1_000);
    first.remove();
    const second = add('a', 'second');
    await vi.advanceTimersByTimeAsync(0);
    expect(second.signal.aborted).toBe(false);
  });

  it('ends with stop', async () => {
    const { running, store, add } = setUp();
    add('a');
    await running.stop();
    await running.stop();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(store.batches).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a store that does not answer', () => {
  it('is asked again a second later', async () => {
    const { store, errors, add } = setUp();
    const { signal } = add('a');
    store.failure = new Error('no answer');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(errors).toEqual([store.failure]);
    store.failure = undefined;
    store.states.set('a', 'cancelled');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(abortReason(signal)).toBe('cancelled');
  });

  it('is not asked again while it leaves a question open', async () => {
    const { store, add } = setUp();
    const { signal } = add('a');
    store.isSilent = true;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(store.questions).toBe(1);
    store.isSilent = false;
    store.states.set('a', 'cancelled');
    store.answer();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(abortReason(signal)).toBe('cancelled');
  });
});

describe('a long silence of the store', () => {
  it('leaves attempts alone up to its bound, and has them given up then', async () => {
    const { store, add } = setUp();
    const { signal } = add('a');
    await vi.advanceTimersByTimeAsync(1_000);
    store.failure = new Error('no answer');
    await vi.advanceTimersByTimeAsync(59_000);
    expect(signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(abortReason(signal)).toBe('out_of_touch');
  });

  it('is measured anew after an answer', async () => {
    const { store, add } = setUp();
    const { signal } = add('a');
    store.failure = new Error('no answer');
    await vi.advanceTimersByTimeAsync(50_000);
    store.failure = undefined;
    await vi.advanceTimersByTimeAsync(1_000);
    store.failure = new Error('no answer');
    await vi.advanceTimersByTimeAsync(50_000);
    expect(signal.aborted).toBe(false);
  });

  it('before anything ran does not count', async () => {
    const { store, add } = setUp();
    await vi.advanceTimersByTimeAsync(120_000);
    store.failure = new Error('no answer');
    const { signal } = add('a');
    await vi.advanceTimersByTimeAsync(30_000);
    expect(signal.aborted).toBe(false);
  });
});

describe('a claim that is released later', () => {
  it('is given back once, as soon as the store answers', async () => {
    const { running, store } = setUp();
    store.failure = new Error('no answer');
    running.releaseLater({ id: 'a', token: 't' }, { isCounted: true });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(store.released).toEqual([]);
    store.failure = undefined;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(store.released).toEqual([{ token: 't', isCounted: true }]);
  });

  it('is told of, and that there is none any more', async () => {
    const { running, store } = setUp();
    store.failure = new Error('no answer');
    for (const id of ['a', 'b']) running.releaseLater({ id, token: 't' }, { isCounted: true });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(store.told).toEqual([true]);
    store.failure = undefined;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(store.told).toEqual([true, false]);
  });

  it('is given back when the process stops, if the store answers', async () => {
    const { running, store, errors } = setUp();
    const ids = Array.from({ length: 250 }, (_, at) => `r${at}`);
    for (const id of ids) running.releaseLater({ id, token: id }, { isCounted: false });
    await running.stop();
    expect(store.released.map(({ token }) => token)).toEqual(ids);
    running.releaseLater({ id: 'late', token: 'late' }, { isCounted: false });
    store.failure = new Error('no answer');
    await running.stop();
    expect(errors).toEqual([store.failure]);
  });
});

describe('a process that stops', () => {
  it('interrupts what runs and what registers later', () => {
    const { running, add } = setUp();
    const early = add('a');
    running.interruptAll();
    const late = add('b');
    expect(abortReason(early.signal)).toBe('interrupted');
    expect(abortReason(late.signal)).toBe('interrupted');
  });
});
