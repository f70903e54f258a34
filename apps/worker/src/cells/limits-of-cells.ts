import { DividedLimits, queueName } from '@sluice/queue';
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
  settings: QueueLimitsOptions['settings'];
  cells: readonly [WorkerStoreCell, ...WorkerStoreCell[]];
  /** This process, by a name of its own. */
  workerId: string;
  logger: Logger;
}

/** The limits of the queues of a worker: in one cell as they are, and over several as they are divided. */
export function limitsOfCells({ settings, cells, workerId, logger }: LimitsOfCellsOptions): WorkerLimits {
  const [first, ...others] = cells;
  if (others.length === 0) {
    const { queue, keyPrefix, clients } = first;
    const limits = new QueueLimits({ settings, queue, connection: clients.commands, keyPrefix, logger });
    return {
      set: () => limits.set(),
      prepare: () => Promise.resolve(), // They were set before.
      start: () => limits.start(),
      stop: () => limits.stop(),
    };
  }
  const divided = new DividedLimits({
    cells: [queuesOf(first), ...others.map(queuesOf)],
    limits: () => new Map(settings.models.map(({ queue, concurrency }) => [queueName(queue), concurrency])),
    process: workerId,
    onError: throttledWarning(logger, 'limits of queues not divided over the cells').warn,
  });
  const prepare = async (cell: string) => {
    const found = cells.find(({ name }) => name === cell);
    if (found) await divided.prepare(queuesOf(found));
  };
  return {
    set: async () => {
      const [isFirst] = await Promise.allSettled(cells.map(({ name }) => prepare(name)));
      // A cell that is away now is prepared before its first job is taken.
      if (isFirst?.status === 'rejected') throw isFirst.reason;
      await divided.look();
    },
    prepare,
    start: () => divided.start(),
    stop: () => divided.stop(),
  };
}
