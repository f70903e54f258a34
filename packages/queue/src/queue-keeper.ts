import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { RegularLook } from './regular-look.ts';
import type { ResponseQueue } from './response-queue.ts';

/** How often the mark is looked for, in milliseconds. */
const lookEveryMs = 2_000;

/** How long the store remembers that a process has restored the queues, in milliseconds. A process that was frozen meanwhile must not do it again. */
const claimedMs = 86_400_000;

export interface QueueKeeperOptions {
  connection: Pick<Redis, 'get' | 'set'>;
  /** The key of the mark. Processes that restore the same things share it. */
  key: string;
  queues: Pick<ResponseQueue, 'pausedNames'>;
  /**
   * Restores the state of the queues that only the store holds, after it was emptied. `paused`: the queues that were paused at
   * the last look; empty when another process of this kind restores them. Called again when it rejects.
   */
  putBack: (paused: readonly string[]) => Promise<void>;
  /** Called with the reason why something could not be restored. */
  onError: (error: unknown) => void;
}

/**
 * Notices that the store was emptied under running processes, by a `FLUSHALL` or by a restart without its data: the mark that
 * the first process has set is gone, or has another value.
 */
export class QueueKeeper {
  readonly #options: QueueKeeperOptions;
  readonly #key: string;
  /** The mark at the last look; undefined before the first. */
  #mark: string | undefined;
  #paused: readonly string[] = [];
  /** The lost mark that this process restores the queues for. */
  #claimed: string | undefined;
  readonly #looks = new RegularLook(() => this.#look(), lookEveryMs);

  constructor(options: QueueKeeperOptions) {
    this.#options = options;
    this.#key = options.key;
  }

  start(): void {
    this.#looks.start();
  }

  /** Safe to call twice, or before `start`. */
  stop(): Promise<void> {
    return this.#looks.stop();
  }

  /** Looks now, or joins the look in flight. Never rejects: if the store does not answer, the next look finds out. */
  look(): Promise<void> {
    return this.#looks.look();
  }

  async #look(): Promise<void> {
    const lost = await this.#lostMark().catch(() => undefined);
    if (lost === undefined) return;
    try {
      await this.#makeUpFor(lost);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** The mark of the last look if it is gone; undefined when it still stands. */
  async #lostMark(): Promise<string | undefined> {
    const { connection, queues } = this.#options;
    // The paused queues are read before the mark: they count only if the store had not been emptied when they were read.
    const paused = await queues.pausedNames();
    const known = this.#mark ?? (await this.#setMark());
    if ((await connection.get(this.#key)) !== known) return known;
    this.#mark = known;
    this.#paused = paused;
    return undefined;
  }

  async #makeUpFor(lost: string): Promise<void> {
    const { connection, putBack } = this.#options;
    if (this.#claimed !== lost) {
      const claim = await connection.set(`${this.#key}:${lost}`, '1', 'PX', claimedMs, 'NX');
      if (claim === 'OK') this.#claimed = lost;
    }
    await putBack(this.#claimed === lost ? this.#paused : []);
    this.#mark = await this.#setMark();
  }

  /** Returns the mark, and sets a new one if there is none. */
  async #setMark(): Promise<string> {
    const { connection } = this.#options;
    const made = randomUUID();
    const isSet = await connection.set(this.#key, made, 'NX');
    return isSet === 'OK' ? made : ((await connection.get(this.#key)) ?? made);
  }
}
