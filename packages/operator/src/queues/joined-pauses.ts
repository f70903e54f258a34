import type { ResponseQueues } from '@sluice/queue';
import { type Logger, untilRedisTakes } from '@sluice/runtime';

export interface JoinedPausesOptions {
  /** The queues of the first cell, which says what is paused, and those of the cell that may have been added. */
  first: Pick<ResponseQueues, 'pausedNames'>;
  own: Pick<ResponseQueues, 'pause'>;
  logger: Logger;
}

/** Pauses the queues of a cell that are paused in the first one, once its Redis is there: a cell that was added knows nothing of them. */
export class JoinedPauses {
  readonly #options: JoinedPausesOptions;
  readonly #stopping = new AbortController();

  constructor(options: JoinedPausesOptions) {
    this.#options = options;
  }

  start(): void {
    const { first, own, logger } = this.#options;
    const pause = async () => {
      for (const name of await first.pausedNames()) await own.pause(name);
    };
    const { signal } = this.#stopping;
    untilRedisTakes(pause, signal).catch((error: unknown) => {
      if (!signal.aborted) logger.warn({ err: error }, 'paused queues not paused in every cell');
    });
  }

  stop(): void {
    this.#stopping.abort();
  }
}
