import type { QueueConsumer } from './queue-consumer.ts';
import type { ResponseQueue } from './response-queue.ts';

/** How often the queues are checked, in milliseconds. */
const lookEveryMs = 5_000;

/**
 * How long a queue may stand still, in milliseconds: twice the longest pause that BullMQ makes after an error of the
 * connection (`runRetryDelay`).
 */
const stuckAfterMs = 30_000;

export interface QueueWatchdogOptions {
  queue: Pick<ResponseQueue, 'names' | 'room'>;
  consumer: Pick<QueueConsumer, 'taken' | 'refused' | 'hasFreeSlot'>;
  /** For durations, in milliseconds. */
  now: () => number;
  /** Called once for each queue that stands still. Only a restart of the process helps. */
  onStuck: (stuck: { queue: string; waiting: number; forMs: number }) => void;
}

/**
 * Notices a consumer that takes nothing although it has free slots and jobs wait that it may take. A defect between the queue
 * and this process would have that effect. Such a process looks healthy from outside, and its work would wait for ever.
 *
 * A queue that cannot be read, because the store is away, counts as moving. So does one whose jobs the store refuses to hand out, because it has
 * no memory, no replicas or no disk for writes: a restart mends none of that, and would end what runs.
 */
export class QueueWatchdog {
  readonly #options: QueueWatchdogOptions;
  /** When each queue was first seen to stand still, and how often it had moved by then. */
  readonly #still = new Map<string, { since: number; moves: number }>();
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

  /** Checks every queue that this consumer takes jobs of, unless a check is in flight. Never rejects. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    for (const name of this.#options.queue.names) await this.#lookAt(name);
    this.#isLooking = false;
  }

  async #lookAt(name: string): Promise<void> {
    const { consumer, now, onStuck } = this.#options;
    const moves = this.#moves(name);
    const waiting = consumer.hasFreeSlot(name) ? await this.#waiting(name) : 0;
    const still = this.#still.get(name);
    if (waiting === 0 || this.#moves(name) !== moves) this.#still.delete(name);
    else if (still?.moves !== moves) this.#still.set(name, { since: now(), moves });
    else if (now() - still.since >= stuckAfterMs) {
      this.#still.delete(name);
      onStuck({ queue: decodeURIComponent(name), waiting, forMs: Math.round(now() - still.since) });
    }
  }

  /** How often the store has given this consumer a job, or refused to. */
  #moves(name: string): number {
    const { consumer } = this.#options;
    return consumer.taken(name) + consumer.refused(name);
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
