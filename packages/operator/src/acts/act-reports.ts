import type { Act } from '@sluice/contract/admin';
import type { ActReply, ActStore } from './act-store.ts';
import { loggedError, type Logger, pause, throttledWarning } from '@sluice/runtime';

export interface ActReportsOptions {
  store: Pick<ActStore, 'report' | 'leaseMs'>;
  /** Read at each report. */
  act: Readonly<Act>;
  everyMs: number;
  /** Aborted when the process stops. */
  signal: AbortSignal;
  logger: Logger;
}

/** Whether an act may go on, and why not. */
export type Word = 'go_on' | 'stopped' | 'interrupted' | 'lost';

const words: Readonly<Record<ActReply, Word>> = { go_on: 'go_on', stop: 'stopped', lost: 'lost' };

/**
 * Reports the progress of an act again and again, which keeps its lease, however long one response takes. The last reply of Redis
 * says whether the act may go on. While Redis does not answer, the act waits.
 */
export class ActReports {
  readonly #options: ActReportsOptions;
  readonly #over = new AbortController();
  #reply: ActReply | undefined = 'go_on';
  #next = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;

  constructor(options: ActReportsOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', () => this.#next.resolve(), { once: true });
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Waits until Redis has answered, if it does not at the moment. */
  async mayGoOn(): Promise<Word> {
    for (;;) {
      if (this.#options.signal.aborted) return 'interrupted';
      if (this.#reply !== undefined) return words[this.#reply];
      await this.#next.promise;
    }
  }

  /** The same once Redis has answered again: for a response that failed because Redis was too busy. */
  async afterNext(): Promise<Word> {
    await this.#next.promise;
    return this.mayGoOn();
  }

  /** Reports nothing any more. */
  async stop(): Promise<void> {
    this.#over.abort();
    await this.#running;
  }

  /** Writes the end, for as long as a lease at most: after that everybody reads the act as interrupted anyway. */
  async end(): Promise<void> {
    await this.stop();
    const { store, act, everyMs, signal, logger } = this.#options;
    const giveUpAt = performance.now() + store.leaseMs;
    for (;;) {
      try {
        await store.report(act);
        return;
      } catch (error) {
        if (signal.aborted || performance.now() > giveUpAt) {
          logger.warn({ err: loggedError(error), actId: act.id }, 'end of an act not written');
          return;
        }
      }
      await pause(everyMs, signal);
    }
  }

  async #run(): Promise<void> {
    const { store, act, everyMs, logger } = this.#options;
    const { warn } = throttledWarning(logger, 'progress of an act not written');
    for (;;) {
      await pause(everyMs, this.#over.signal);
      if (this.#over.signal.aborted) return;
      try {
        this.#reply = await store.report(act);
        this.#next.resolve();
        this.#next = Promise.withResolvers<void>();
        if (this.#options.signal.aborted) this.#next.resolve();
      } catch (error) {
        this.#reply = undefined;
        warn(error);
      }
    }
  }
}
