import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ForgottenJobs } from './forgotten-jobs.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Queues in memory, of which every response is open that is not said to have ended. Workers that take turns share those. */
function looking(jobs: Record<string, string[]>, turns = new Map<string, number>()) {
  const ended = new Set<string>();
  const errors: unknown[] = [];
  const store = { isAway: false, asked: 0 };
  const forgotten = new ForgottenJobs({
    queue: {
      names: Object.keys(jobs),
      waitingIds: async (name, { waitsFor, first, count }) => {
        if (store.isAway) throw new Error('away');
        return waitsFor === 'time' ? (jobs[name] ?? []).slice(first, first + count) : [];
      },
      remove: async (name, responseId) => {
        jobs[name] = (jobs[name] ?? []).filter((id) => id !== responseId);
      },
    },
    takeTurn: async (name, forMs) => {
      if (Date.now() < (turns.get(name) ?? 0)) return false;
      turns.set(name, Date.now() + forMs);
      return true;
    },
    areOpen: async (ids) => {
      store.asked += 1;
      return ids.map((id) => !ended.has(id));
    },
    logger: { warn: () => undefined },
    onError: (error) => errors.push(error),
  });
  return { forgotten, ended, errors, store };
}

it('removes the jobs of responses that have ended, in every queue and behind many that wait', async () => {
  const many = Array.from({ length: 1_200 }, (_, at) => `wide-${at}`);
  const jobs = { 'gpt%2Fa': ['a-1', 'a-2'], wide: many };
  const { forgotten, ended, store } = looking(jobs);
  forgotten.start();
  await vi.advanceTimersByTimeAsync(1);
  expect(jobs).toEqual({ 'gpt%2Fa': ['a-1', 'a-2'], wide: many });
  expect(store.asked).toBe(4);

  for (const id of ['a-1', 'wide-3', 'wide-499', 'wide-500', 'wide-1199']) ended.add(id);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(jobs).toEqual({ 'gpt%2Fa': ['a-2'], wide: many.filter((id) => !ended.has(id)) });
  await forgotten.stop();
});

it('goes on after Redis was away, and looks no more once it was stopped', async () => {
  const jobs = { wide: ['wide-1'] };
  const { forgotten, ended, errors, store } = looking(jobs);
  ended.add('wide-1');
  store.isAway = true;
  forgotten.start();
  await vi.advanceTimersByTimeAsync(1);
  expect(errors).toEqual([new Error('away')]);
  await forgotten.stop();
  store.isAway = false;
  await vi.advanceTimersByTimeAsync(120_000);
  expect(jobs).toEqual({ wide: ['wide-1'] });

  const next = looking(jobs);
  next.ended.add('wide-1');
  next.store.isAway = true;
  next.forgotten.start();
  await vi.advanceTimersByTimeAsync(1);
  next.store.isAway = false;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(jobs).toEqual({ wide: [] });
  await next.forgotten.stop();
});

it('looks through a queue once a minute, however many workers there are, and goes on where one of them is gone', async () => {
  const turns = new Map<string, number>();
  const one = looking({ narrow: ['narrow-1'], wide: ['wide-1'] }, turns);
  const other = looking({ wide: ['wide-1'], own: ['own-1'] }, turns);
  const asked = () => [one.store.asked, other.store.asked];
  one.forgotten.start();
  await vi.advanceTimersByTimeAsync(20_000);
  other.forgotten.start();
  await vi.advanceTimersByTimeAsync(1);
  expect(asked()).toEqual([2, 1]);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(asked()).toEqual([6, 3]);

  await one.forgotten.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked()).toEqual([6, 5]);
  await other.forgotten.stop();
});
