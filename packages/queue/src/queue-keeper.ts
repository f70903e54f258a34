import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { ResponseQueue } from './response-queue.ts';

/** How often the store is looked at, in milliseconds. */
const lookEveryMs = 2_000;

/** How long it is known that a process has put back what was lost, in milliseconds. One that was frozen meanwhile must not do it again. */
const claimedMs = 86_400_000;

export interface QueueKeeperOptions {
  connection: Pick<Redis, 'get' | 'set'>;
  /** The mark. Processes that put back the same things share it. */
  key: string;
  queues: Pick<ResponseQueue, 'pausedNames'>;
  /**
   * Puts back what the store alone holds of the queues, after it was emptied. `paused`: those that were paused when it was looked at last;
   * none when another process of this kind puts them back. It is called again when it rejects.
   */
  putBack: (paused: readonly string[]) => Promise<void>;
  /** Told why something could not be put back. */
  onError: (error: unknown) => void;
}

/**
 * Notices that the store was emptied under running processes, by a `FLUSHALL` or by a restart without its data: the mark that the first
 * process has set is gone, or there is another one.
 */
export class QueueKeeper {
  readonly #options: QueueKeeperOptions;
  readonly #key: string;
  /** The mark that was there; undefined before the first look. */
  #mark: string | undefined;
  #paused: readonly string[] = [];
  /** The mark whose loss this process makes up for. */
  #claimed: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: QueueKeeperOptions) {
    this.#options = options;
    this.#key = options.key;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.look(), lookEveryMs);
    void this.look();
  }

  /** Twice, or before `start`, is fine. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#looking;
  }

  /** Looks now, or with the look that is under way. Never rejects: a store that does not answer is looked at the next time. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
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

  /** The mark that was there and is not any more; undefined when it still is. */
  async #lostMark(): Promise<string | undefined> {
    const { connection, queues } = this.#options;
    // In this order: what is paused counts only if the store had not been emptied when it was read.
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

  /** The mark that is there, or a new one. */
  async #setMark(): Promise<string> {
    const { connection } = this.#options;
    const made = randomUUID();
    const isSet = await connection.set(this.#key, made, 'NX');
    return isSet === 'OK' ? made : ((await connection.get(this.#key)) ?? made);
  }
}
