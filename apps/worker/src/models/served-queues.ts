import type { QueueConsumer } from '@sluice/queue';
import { untilRedisTakes } from '@sluice/runtime';
import type { QueueLimits } from '../queue-limits.ts';

export interface ServedQueuesOptions {
  /** The encoded names of the queues to serve, read at each change. */
  names: () => readonly string[];
  limits: Pick<QueueLimits, 'set'>;
  consumer: Pick<QueueConsumer, 'serve'>;
  /** Told of a change that did not take effect, for another reason than that Redis is away. */
  onError: (error: unknown) => void;
}

/**
 * Takes jobs of the queues of the models in effect. A queue gets its limit before jobs of it are taken, so no queue runs more
 * than it may, not even for a moment. While Redis is away, a change waits.
 */
export class ServedQueues {
  readonly #options: ServedQueuesOptions;
  readonly #stopping = new AbortController();
  #isDue = false;
  #changing: Promise<void> | undefined;

  constructor(options: ServedQueuesOptions) {
    this.#options = options;
  }

  /** The queues or their limits have changed. They take effect at once, or after the change under way. */
  change(): void {
    this.#isDue = true;
    this.#changing ??= this.#change();
  }

  /** Resolves when no change is under way. Twice is fine. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the worker stops'));
    await this.#changing;
  }

  async #change(): Promise<void> {
    const { names, limits, consumer, onError } = this.#options;
    const { signal } = this.#stopping;
    while (this.#isDue && !signal.aborted) {
      this.#isDue = false;
      try {
        await untilRedisTakes(() => limits.set(), signal);
        consumer.serve(names());
      } catch (error) {
        if (!signal.aborted) onError(error);
      }
    }
    // At once: a change that came in between would find this one under way, and nobody would look again.
    this.#changing = undefined;
  }
}
