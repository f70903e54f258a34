import { isRedisUnavailable, loggedError, type Logger, pause, throttledWarning } from '@sluice/runtime';
import type { BackgroundWork } from './background-work.ts';

/**
 * Between two rounds, in milliseconds. Short, because a response that was refused may run until it is taken back. While the
 * store is away a round sends next to nothing.
 */
const retryEveryMs = 100;

/** Steps done at once; their commands go in one write. */
const batchSize = 100;

/** Most steps that are remembered before new work is refused: a few MB. */
const mostWaiting = 10_000;

/**
 * A step that must reach the store, and is harmless twice. Resolves with whether it is settled; otherwise it has to be
 * done again although the store answered.
 */
export type Step = () => Promise<boolean>;

export interface UnansweredStepsDependencies {
  background: BackgroundWork;
  logger: Logger;
}

/**
 * Steps of an api that must reach the store, such as taking back a response whose caller was refused. Each is done at
 * once, and again until it is settled.
 *
 * One loop serves all that are not settled, and while the store is away a round of it costs one step.
 *
 * Their number is bounded by refusing new work, not by forgetting: while it `isFull` nothing may be sent to the store
 * that might have to be taken back. So nothing is lost at the bound. What was under way by then comes on top of it; that
 * is no more than the connections that an api has.
 *
 * A process that ends leaves its steps to the rescue and to the workers: its lease lapses, and with it the only caller of
 * its responses.
 */
export class UnansweredSteps {
  readonly #background: BackgroundWork;
  readonly #logger: Logger;
  readonly #mostWaiting: number;
  readonly #warn: (error: unknown) => void;
  readonly #waiting = new Map<string, Step>();
  #isLooping = false;

  constructor({ background, logger }: UnansweredStepsDependencies, most: number = mostWaiting) {
    this.#background = background;
    this.#logger = logger;
    this.#mostWaiting = most;
    this.#warn = throttledWarning(logger, 'step of the store failed').warn;
  }

  /** Whether so many wait that no more may be added to them on purpose. */
  get isFull(): boolean {
    return this.#waiting.size >= this.#mostWaiting;
  }

  /** How many are not settled yet. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Does a step for as long as that needs. It takes the place of another one with the same name. */
  run(name: string, step: Step): void {
    this.#waiting.set(name, step);
    this.#background.run(async (stopping) => {
      await this.#try(name, step);
      if (this.#waiting.has(name) && !this.#isLooping) await this.#loop(stopping);
    });
  }

  async #loop(stopping: AbortSignal): Promise<void> {
    this.#isLooping = true;
    try {
      while (this.#waiting.size > 0) {
        const isLast = stopping.aborted;
        await pause(retryEveryMs, stopping);
        await this.#round();
        if (isLast && this.#waiting.size > 0) {
          throw new Error(`${this.#waiting.size} steps are left to the rescue`);
        }
      }
    } finally {
      this.#isLooping = false;
    }
  }

  /** Tries each once. The first goes alone: if it gets no answer, the others would get none either. */
  async #round(): Promise<void> {
    const waiting = [...this.#waiting];
    for (let at = 0, size = 1; at < waiting.length; at += size, size = batchSize) {
      const batch = waiting.slice(at, at + size);
      const answered = await Promise.all(batch.map(([name, step]) => this.#try(name, step)));
      if (answered.includes(false)) return;
    }
  }

  /** @returns whether the store answered. */
  async #try(name: string, step: Step): Promise<boolean> {
    try {
      if (await step()) this.#settle(name, step);
      return true;
    } catch (error) {
      if (isRedisUnavailable(error)) {
        this.#logger.debug({ step: name, err: loggedError(error) }, 'no answer from the store: trying again');
        return false;
      }
      // A defect gets no better by trying again, and must not keep the others waiting.
      this.#settle(name, step);
      this.#warn(error);
      return true;
    }
  }

  #settle(name: string, step: Step): void {
    if (this.#waiting.get(name) === step) this.#waiting.delete(name);
  }
}
