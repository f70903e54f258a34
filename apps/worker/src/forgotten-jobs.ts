import { RegularLook, type ResponseQueue } from '@sluice/queue';

/** How often the jobs that wait outside of their queues are looked through, in milliseconds. */
const lookEveryMs = 60_000;

/**
 * How long a queue is left to the worker that looks through it, in milliseconds: a little less than the time between two looks of one worker,
 * which may find it again.
 */
const turnMs = 55_000;

/** Jobs looked at by one command: well below a millisecond of everybody's time. */
const pageSize = 500;

export interface ForgottenJobsOptions {
  queue: Pick<ResponseQueue, 'names' | 'waitingIds' | 'remove'>;
  /** Takes the turn to look through a queue for so many milliseconds, unless another worker has it. */
  takeTurn: (name: string, forMs: number) => Promise<boolean>;
  /** Says of each of these responses whether it has no end yet. */
  areOpen: (responseIds: readonly string[]) => Promise<boolean[]>;
  logger: { warn(fields: object, message: string): void };
  onError: (error: unknown) => void;
}

/**
 * Removes the jobs of ended responses that wait for a time. Whoever ends a response removes its job next, and a process that dies in between
 * leaves it: no worker would take it for up to a day, and it would count as waiting.
 *
 * Each worker looks at the queues of its models, because nobody knows those of all pools, and at each of them in turn with the others: a look costs
 * Redis as much as there are jobs that wait. Twice is fine. A response is open before it has a job, so no job of one that is about to begin goes.
 */
export class ForgottenJobs {
  readonly #options: ForgottenJobsOptions;
  readonly #looks: RegularLook;
  #isStopping = false;

  constructor(options: ForgottenJobsOptions) {
    this.#options = options;
    this.#looks = new RegularLook(() => this.#look().catch(options.onError), lookEveryMs);
  }

  start(): void {
    this.#looks.start();
  }

  /** Resolves when no look is under way, which ends after its page. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#looks.stop();
  }

  async #look(): Promise<void> {
    const { queue, takeTurn } = this.#options;
    for (const name of queue.names) {
      if (!this.#isStopping && (await takeTurn(name, turnMs))) await this.#lookThrough(name);
    }
  }

  async #lookThrough(name: string): Promise<void> {
    const { queue, areOpen, logger } = this.#options;
    // Jobs come and go meanwhile, so a look may skip some, which the next one finds.
    for (let first = 0; !this.#isStopping; ) {
      const ids = await queue.waitingIds(name, { waitsFor: 'time', first, count: pageSize });
      const open = await areOpen(ids);
      const forgotten = ids.filter((_id, at) => open[at] === false);
      for (const responseId of forgotten) {
        await queue.remove(name, responseId);
        logger.warn({ responseId, queue: decodeURIComponent(name) }, 'job outlived its response: removed');
      }
      if (ids.length < pageSize) return;
      first += ids.length - forgotten.length;
    }
  }
}
