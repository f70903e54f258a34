import type { QueueConsumer } from './queue-consumer.ts';
import type { ResponseQueue } from './response-queue.ts';

/** How often the queues are looked at, in milliseconds. */
const lookEveryMs = 5_000;

/**
 * How long a queue may stand still, in milliseconds: twice the longest pause that BullMQ makes after an error of the
 * connection (`runRetryDelay`).
 */
const stuckAfterMs = 30_000;

export interface QueueWatchdogOptions {
  queue: Pick<ResponseQueue, 'names' | 'room'>;
  consumer: Pick<QueueConsumer, 'taken' | 'hasFreeSlot'>;
  /** For durations, in milliseconds. */
  now: () => number;
  /** Called once for each queue that stands still. The process cannot help itself: end it. */
  onStuck: (stuck: { queue: string; waiting: number; forMs: number }) => void;
}

/**
 * Notices a consumer that takes nothing although it has free slots and jobs wait that it may take, which a defect in the
 * way from the queue to here would look like. Such a process looks well from outside, and work would wait for ever.
 *
 * A queue that is looked at in vain, because the store is away, counts as one that moves.
 */
export class QueueWatchdog {
  readonly #options: QueueWatchdogOptions;
  /** When each queue was first seen to stand still, and how much had been taken by then. */
  readonly #still = new Map<string, { since: number; taken: number }>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(options: QueueWatchdogOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.look(), lookEveryMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Looks at every queue from which something could be taken here, unless a look is under way. Never rejects. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    for (const name of this.#options.queue.names) await this.#lookAt(name);
    this.#isLooking = false;
  }

  async #lookAt(name: string): Promise<void> {
    const { consumer, now, onStuck } = this.#options;
    const taken = consumer.taken(name);
    const waiting = consumer.hasFreeSlot(name) ? await this.#waiting(name) : 0;
    const still = this.#still.get(name);
    if (waiting === 0 || consumer.taken(name) !== taken) this.#still.delete(name);
    else if (still?.taken !== taken) this.#still.set(name, { since: now(), taken });
    else if (now() - still.since >= stuckAfterMs) {
      this.#still.delete(name);
      onStuck({ queue: decodeURIComponent(name), waiting, forMs: Math.round(now() - still.since) });
    }
  }

  /** How many jobs this consumer could take; none when Redis does not answer. */
  async #waiting(name: string): Promise<number> {
    try {
      const { waiting, isPaused, hasRoom } = await this.#options.queue.room(name);
      return isPaused || !hasRoom ? 0 : waiting;
    } catch {
      return 0;
    }
  }
}
