import type { ResponseQueues } from '@sluice/queue';
import { type Logger, pause, throttledWarning, untilRedisTakes } from '@sluice/runtime';
import type { CellsInEffect } from '../cells/cell-rows.ts';

/** How often a cell that is about to open is looked at, in milliseconds: several times between its last time as one that joins and its opening. */
const lookEveryMs = 2_000;

export interface JoinedPausesOptions {
  /** The queues of the first cell, which says what is paused, and those of the cell that may have been added. */
  first: Pick<ResponseQueues, 'pausedNames'>;
  own: Pick<ResponseQueues, 'pausedNames' | 'pause' | 'resume'>;
  /** The state of the cell, as this process knows it. */
  state: () => ReturnType<CellsInEffect['states']['of']>;
  logger: Logger;
}

/**
 * Pauses the queues of a cell that are paused in the first one, once its Redis is there: a cell that was added knows nothing of them, and while it joins
 * it is not told of any that is paused or resumed. So it is kept as the first one is until it is open. By then every process tells it.
 */
export class JoinedPauses {
  readonly #options: JoinedPausesOptions;
  readonly #stopping = new AbortController();

  constructor(options: JoinedPausesOptions) {
    this.#options = options;
  }

  start(): void {
    void this.#follow();
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Never rejects. */
  async #follow(): Promise<void> {
    const { state, logger } = this.#options;
    const { signal } = this.#stopping;
    const { warn } = throttledWarning(logger, 'paused queues not paused in every cell');
    let hasJoined = false;
    // The process learns the state of a cell right after it has joined it.
    await Promise.resolve();
    while (!signal.aborted) {
      // It is read before the pauses: what only the first cell was told before this one was open is copied after that.
      const current = state();
      hasJoined ||= current === 'joining';
      let isEqual = false;
      const look = async () => {
        isEqual = await this.#makeEqual(hasJoined);
      };
      await untilRedisTakes(look, signal).catch((error: unknown) => {
        if (!signal.aborted) warn(error);
      });
      if (isEqual && current !== 'joining' && current !== 'opening') return;
      await pause(lookEveryMs, signal);
    }
  }

  /**
   * Resumes nothing in a cell that has not just joined: the first one may have lost what it knew.
   *
   * @returns whether there was nothing to do. What was done may have crossed what an operator did, so it is looked at again.
   */
  async #makeEqual(hasJoined: boolean): Promise<boolean> {
    const { first, own } = this.#options;
    const wanted = new Set(await first.pausedNames());
    const found = new Set(await own.pausedNames());
    const missing = [...wanted].filter((name) => !found.has(name));
    const surplus = hasJoined ? [...found].filter((name) => !wanted.has(name)) : [];
    for (const name of missing) await own.pause(name);
    for (const name of surplus) await own.resume(name);
    return missing.length + surplus.length === 0;
  }
}
