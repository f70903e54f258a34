import { type Limits, QueueKeeper, type QueueKeeperOptions, type ResponseQueues } from '@sluice/queue';
import { type Logger, throttledWarning } from '@sluice/runtime';

export interface QueueLimitsOptions {
  /** How many jobs of each queue that is served run at once, by its encoded name. Read at each use. */
  limits: () => Limits;
  queue: Pick<ResponseQueues, 'limitConcurrency'>;
  connection: QueueKeeperOptions['connection'];
  /** Starts every key of the cell. */
  keyPrefix: string;
  logger: Logger;
}

/** Sets how many jobs of a queue run at once over all workers. Each worker sets the same numbers, from the same file. */
export class QueueLimits {
  readonly #options: QueueLimitsOptions;
  readonly #keeper: QueueKeeper;

  constructor(options: QueueLimitsOptions) {
    this.#options = options;
    const { connection, keyPrefix, logger } = options;
    this.#keeper = new QueueKeeper({
      connection,
      key: `${keyPrefix}store-mark:worker`,
      // An api puts back what was paused.
      queues: { pausedNames: () => Promise.resolve([]) },
      putBack: async () => {
        logger.warn('the store was emptied: the limits of the queues are set again');
        await this.set();
      },
      onError: throttledWarning(logger, 'limits of the queues not set').warn,
    });
  }

  async set(): Promise<void> {
    const { limits, queue } = this.#options;
    for (const [name, concurrency] of limits()) await queue.limitConcurrency(name, concurrency);
  }

  /** Sets them again whenever the store was emptied. */
  start(): void {
    this.#keeper.start();
  }

  stop(): Promise<void> {
    return this.#keeper.stop();
  }
}
