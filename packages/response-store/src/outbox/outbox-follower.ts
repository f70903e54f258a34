import { setTimeout as pause } from 'node:timers/promises';
import type { EndFact, Happening, OutboxReader } from './outbox.ts';

export interface OutboxFollowerOptions {
  reader: Pick<OutboxReader, 'take'>;
  /** Tells these ends, and what else has happened. When it rejects, all of them come again. */
  tell: (ends: readonly EndFact[], happenings: readonly Happening[]) => Promise<void>;
  /** Told of ends that were lost because too many waited, and of entries that this release cannot read. */
  onLost: (count: number) => void;
  onError: (error: unknown) => void;
  /** Pause after everything was told, in milliseconds; a quarter of a second by default. */
  everyMs?: number;
  /** Pause while another process reads, and after an error, in milliseconds; a second by default. */
  againMs?: number;
}

/** Tells the ends in the outbox while a process runs, as soon as they are there, when no other process does. */
export class OutboxFollower {
  readonly #options: OutboxFollowerOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: OutboxFollowerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when nothing is told any more. May be called twice, or without a start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { everyMs = 250, againMs = 1_000, onError } = this.#options;
    const { signal } = this.#stopping;
    let told: readonly string[] = [];
    while (!signal.aborted) {
      let pauseMs = againMs;
      try {
        const step = await this.#step(told);
        // Where nothing was read, nothing was noted either: what was told is noted by the next read.
        if (step) {
          told = step.told;
          pauseMs = step.isFull ? 0 : everyMs;
        }
      } catch (error) {
        onError(error);
      }
      if (pauseMs > 0) await pause(pauseMs, undefined, { signal }).catch(() => undefined);
    }
    // What was told last is noted, so that it is not told again.
    if (told.length > 0) await this.#options.reader.take(told).catch(onError);
  }

  /** Returns the entries that were told, and whether more may wait; undefined while nothing can be read here. */
  async #step(told: readonly string[]): Promise<{ told: string[]; isFull: boolean } | undefined> {
    const { reader, tell, onLost } = this.#options;
    const taken = await reader.take(told);
    if (!taken) return undefined;
    const ends = taken.entries.flatMap(({ fact }) => fact ?? []);
    const happenings = taken.entries.flatMap(({ happening }) => happening ?? []);
    const lost = taken.lost + taken.entries.length - ends.length - happenings.length;
    if (lost > 0) onLost(lost);
    if (ends.length + happenings.length > 0) await tell(ends, happenings);
    return { told: taken.entries.map(({ id }) => id), isFull: taken.isFull };
  }
}
