import { QueueConsumer, QueueWatchdog } from '@sluice/queue';
import {
  isRedisUnavailable,
  isReplyMissing,
  loggedError,
  type Logger,
  throttledWarning,
  untilRedisTakes,
} from '@sluice/runtime';
import type { ConnectedSettings } from '@sluice/wiring';
import type { AttemptRunner } from '../attempt-runner.ts';
import { ForgottenJobs } from '../forgotten-jobs.ts';
import { rescueOfWorker } from '../rescue-of-worker.ts';
import type { RescueSchedule } from '../rescue-schedule.ts';
import type { WorkerLimits } from './limits-of-cells.ts';
import type { WorkerStoreCell } from './queues-of-cell.ts';

export interface WorkerCellOptions {
  settings: ConnectedSettings;
  cell: WorkerStoreCell;
  /** How many cells share the slots of the worker. */
  cellCount: number;
  runner: AttemptRunner;
  limits: Pick<WorkerLimits, 'prepare'>;
  logger: Logger;
  /** For durations, in milliseconds. */
  now: () => number;
  onQueueError: (error: Error) => void;
  onStuck: (stuck: { queue: string }) => void;
}

/** The part of a worker in one cell of the store: it takes the jobs of the cell, and rescues its responses. */
export class WorkerCell {
  readonly #options: WorkerCellOptions;
  readonly consumer: QueueConsumer;
  readonly #watchdog: QueueWatchdog;
  readonly #rescue: RescueSchedule;
  readonly #forgotten: ForgottenJobs;
  readonly #stopping = new AbortController();

  constructor(options: WorkerCellOptions) {
    this.#options = options;
    const { cell, runner, logger, now, onStuck } = options;
    this.consumer = this.#makeConsumer();
    this.#watchdog = new QueueWatchdog({ queue: cell.queue, consumer: this.consumer, now, onStuck });
    this.#rescue = rescueOfWorker({ cell, runner, logger });
    this.#forgotten = new ForgottenJobs({
      queue: cell.queue,
      takeTurn: (name, forMs) => this.#takeTurn(name, forMs),
      areOpen: (responseIds) => cell.store.areOpen(cell.name, responseIds),
      logger,
      onError: throttledWarning(logger, 'jobs not looked through').warn,
    });
  }

  /** Takes jobs as soon as the Redis of the cell is there, and what runs is limited. */
  start(): void {
    const { cell, limits, logger } = this.#options;
    const { signal } = this.#stopping;
    const prepared = untilRedisTakes(() => limits.prepare(cell.name), signal);
    prepared
      .then(() => this.#begin())
      .catch((error: unknown) => {
        if (!signal.aborted)
          logger.error({ cell: cell.name, err: loggedError(error) }, 'no jobs are taken in a cell');
      });
  }

  #begin(): void {
    if (this.#stopping.signal.aborted) return;
    this.consumer.start();
    this.#watchdog.start();
    this.#rescue.start();
    this.#forgotten.start();
  }

  /** Looks after nothing any more. Resolves when no rescue is under way. */
  async stopRescue(): Promise<void> {
    this.#stopping.abort(new Error('the worker stops'));
    this.#watchdog.stop();
    await Promise.all([this.#rescue.stop(), this.#forgotten.stop()]);
  }

  async #takeTurn(queueName: string, forMs: number): Promise<boolean> {
    const { clients, keyPrefix } = this.#options.cell;
    const key = `${keyPrefix}forgotten-jobs:${queueName}`;
    return (await clients.commands.set(key, '1', 'PX', forMs, 'NX')) === 'OK';
  }

  #makeConsumer(): QueueConsumer {
    const { cell, settings, runner, onQueueError: onError, logger } = this.#options;
    const { recovery, workerConcurrency, dashboard } = settings;
    return new QueueConsumer({
      keyPrefix: cell.keyPrefix,
      names: cell.queue.names,
      onError,
      isRefusal: (error) => isRedisUnavailable(error) && !isReplyMissing(error),
      connection: cell.clients.jobs,
      concurrency: workerConcurrency,
      consumers: this.#options.cellCount,
      lockMs: recovery.lockMs,
      stalledMs: recovery.stalledMs,
      keep: { completed: dashboard.keepCompleted, failed: dashboard.keepFailed },
      run: (responseId) => runner.execute(responseId),
      onDeferred: (responseId, queue) => this.#standInLine(responseId, queue),
      onDefect: (error, responseId) => logger.error({ responseId, err: error }, 'attempt rejected'),
    });
  }

  /** Until it is in its line, nothing lets it in; the rescue finds one that is in none. */
  #standInLine(responseId: string, queueName: string): void {
    const { store, queue } = this.#options.cell;
    const stand = async () => {
      // One that was cancelled meanwhile had its job removed in vain, as that was under way.
      if (!(await store.standInLine(responseId))) await queue.remove(queueName, responseId);
    };
    stand().catch((error: unknown) => {
      this.#options.logger.warn({ responseId, err: error }, 'response not in its line');
    });
  }
}
