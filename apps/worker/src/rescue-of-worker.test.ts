import { createLogger } from '@sluice/runtime';
import { afterEach, expect, it, vi } from 'vitest';
import { rescueOfWorker, type RescuingWorker } from './rescue-of-worker.ts';

afterEach(() => vi.useRealTimers());

it('renumbers the queue of a model that only other workers serve', async () => {
  vi.useFakeTimers();
  const renumbered: string[] = [];
  const store = {
    leadRescue: async () => true,
    surveyDue: async () => [],
    survey: async () => [],
    farQueues: async () => ['theirs'],
    renumber: async (_cell: string, name: string, { jobs }: { jobs: string }) => {
      renumbered.push(`${name} ${jobs}`);
      return false;
    },
    recount: async () => true,
    nextDue: async () => undefined,
  };
  const cell = {
    name: '0',
    store,
    clock: { now: () => 0 },
    queue: { names: ['ours'], order: (name: string) => ({ jobs: `jobs of ${name}` }) },
  };
  const runner = { end: async () => undefined, giveBack: async () => undefined };
  const logger = createLogger({ name: 'worker', level: 'silent' });
  const rescue = rescueOfWorker({ cell, runner, logger } as unknown as RescuingWorker); // as far as it is asked
  rescue.start();
  await vi.advanceTimersByTimeAsync(1_000);
  await rescue.stop();
  expect(renumbered).toEqual(['theirs jobs of theirs']);
});
