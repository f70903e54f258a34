import { randomUUID } from 'node:crypto';
import type { AttemptStores } from '@sluice/response-store';
import { type Logger, throttledWarning } from '@sluice/runtime';
import type { WiredCell } from '@sluice/wiring';
import type { AttemptRunner } from './attempt-runner.ts';
import { Rescue } from './rescue-responses.ts';
import { RescueSchedule } from './rescue-schedule.ts';

export interface RescuingWorker {
  cell: Pick<WiredCell<unknown, AttemptStores>, 'name' | 'store' | 'clock' | 'queue'>;
  runner: Pick<AttemptRunner, 'end' | 'giveBack'>;
  logger: Logger;
}

/** The part of a worker in looking after responses of a cell that other processes left behind. */
export function rescueOfWorker({ cell, runner, logger }: RescuingWorker): RescueSchedule {
  const { name: ofCell, store, clock, queue } = cell;
  const storeNow = () => clock.now();
  const rescue = new Rescue({
    survey: (offset, count) => store.survey(ofCell, { offset, count }),
    surveyDue: (count) => store.surveyDue(ofCell, { now: storeNow(), count }),
    recount: () => store.recount(ofCell),
    endQueued: async (responseId, end) => {
      await store.endIfQueued(responseId, end);
    },
    endRunning: async (responseId) => {
      const claimed = await store.takeOver(responseId, randomUUID());
      // A worker that is alive after all is superseded; a response that may go on after all is given back.
      if (claimed.kind === 'end') await runner.end(claimed.record, claimed.because);
      else if (claimed.kind === 'run') await runner.giveBack(claimed.record);
    },
    queue,
    storeNow,
    // Its claim sends one to its line that waits outside of its queue.
    priorityOf: async (responseId) => (await store.queuePriority(responseId)) ?? 1,
    standInLine: (responseId) => store.standInLine(responseId),
    farQueues: () => store.farQueues(ofCell),
    // Also of a model that only other workers serve: nobody else looks after its queue.
    renumber: (name) => store.renumber(ofCell, name, queue.order(name)),
    logger,
  });
  return new RescueSchedule({
    lead: (leaseMs) => store.leadRescue(ofCell, leaseMs),
    nextDue: () => store.nextDue(ofCell),
    rescue,
    storeNow,
    onError: throttledWarning(logger, 'rescue failed').warn,
  });
}
