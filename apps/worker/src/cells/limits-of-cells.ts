import { DividedLimits } from '@sluice/queue';
import type { Cells } from '@sluice/response-store';
import { type Logger, throttledWarning } from '@sluice/runtime';
import { QueueLimits, type QueueLimitsOptions } from '../queue-limits.ts';
import { queuesOf, type WorkerStoreCell } from './queues-of-cell.ts';

/** The limits of the queues over all workers and cells. */
export interface WorkerLimits {
  /** Sets them where Redis is there. */
  set: () => Promise<void>;
  /** Resolves when jobs of a cell may be taken: no queue of it runs without its limit. */
  prepare: (cell: string) => Promise<void>;
  /** Keeps them from now on. */
  start: () => void;
  stop: () => Promise<void>;
}

export interface LimitsOfCellsOptions {
  limits: QueueLimitsOptions['limits'];
  cells: Cells<WorkerStoreCell>;
  /** This process, by a name of its own. */
  workerId: string;
  logger: Logger;
}

/** The limits of the queues of a worker: in one cell as they are, and over several as they are divided, from the time when a second one joins. */
export function limitsOfCells({ limits, cells, workerId, logger }: LimitsOfCellsOptions): WorkerLimits {
  const { queue, keyPrefix, clients } = cells.first;
  const whole = new QueueLimits({ limits, queue, connection: clients.commands, keyPrefix, logger });
  const divided = new DividedLimits({
    cells: () => [queuesOf(cells.first), ...cells.all.slice(1).map(queuesOf)],
    limits,
    process: workerId,
    onError: throttledWarning(logger, 'limits of queues not divided over the cells').warn,
  });
  let isDivided = false;
  let isRunning = false;
  cells.follow({
    join: () => {
      if (isDivided || cells.all.length === 1) return;
      isDivided = true;
      if (!isRunning) return;
      void whole.stop();
      divided.start();
    },
    leave: () => undefined, // What one of several had is divided over those that are left.
  });
  const prepare = async (name: string) => {
    const cell = cells.get(name);
    // In one cell they were set before.
    if (cell && isDivided) await divided.prepare(queuesOf(cell));
  };
  return {
    set: async () => {
      if (!isDivided) return whole.set();
      const [isFirst] = await Promise.allSettled(cells.all.map(({ name }) => prepare(name)));
      // A cell that is away now is prepared before its first job is taken.
      if (isFirst?.status === 'rejected') throw isFirst.reason;
      await divided.look();
    },
    prepare,
    start: () => {
      isRunning = true;
      if (isDivided) divided.start();
      else whole.start();
    },
    stop: async () => {
      isRunning = false;
      await Promise.all([whole.stop(), divided.stop()]);
    },
  };
}
