import { type Logger, throttledWarning } from '@sluice/runtime';

/**
 * Work that nobody waits for, but that somebody owns: it is finished, or told to give up, before the process ends.
 */
export class BackgroundWork {
  readonly #warn: (error: unknown) => void;
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(logger: Logger) {
    this.#warn = throttledWarning(logger, 'store did not answer').warn;
  }

  /** Runs work whose failure is logged and otherwise harmless: something else heals it. */
  run(work: (stopping: AbortSignal) => Promise<void>): void {
    const owned = work(this.#stopping.signal)
      .catch((error: unknown) => this.#warn(error))
      .finally(() => this.#running.delete(owned));
    this.#running.add(owned);
  }

  /** Resolves when nothing runs any more. What retries for ever gives up. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }
}
