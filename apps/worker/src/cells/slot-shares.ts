import { divide, type QueueConsumer, type QueueDepth, RegularLook } from '@sluice/queue';

/** How often the shares follow the backlog, in milliseconds. */
const shareEveryMs = 1_000;

/** The weight of the last look in the smoothed backlog. */
const smoothing = 0.5;

/** A cell whose share of the slots is to follow its backlog. */
export interface SharingCell {
  name: string;
  queue: { depth: (name: string) => Promise<Pick<QueueDepth, 'waiting'>> };
  consumer: Pick<QueueConsumer, 'setSlots' | 'inHand' | 'leastSlots'>;
}

export interface SlotSharesOptions {
  cells: readonly SharingCell[];
  /** The names of the queues, read at each look. */
  names: () => readonly string[];
  /** Slots of this process for each queue, in all cells together. */
  slots: number;
}

/**
 * Divides the slots of a worker for a queue over the cells, by what waits and runs there, each second. Every cell keeps one or a few, so that a response in
 * an idle one begins at once; a cell that does not answer keeps these alone.
 */
export class SlotShares {
  readonly #options: SlotSharesOptions;
  readonly #smoothed = new Map<string, number>();
  readonly #begun = new Set<string>();
  readonly #looks = new RegularLook(() => this.#look(), shareEveryMs);

  constructor(options: SlotSharesOptions) {
    this.#options = options;
  }

  /** With one cell there is nothing to divide. */
  start(): void {
    const { cells, names } = this.#options;
    if (cells.length === 1) return;
    this.begin(names());
    this.#looks.start();
  }

  /** Divides the slots of queues evenly whose jobs are not taken yet. */
  begin(names: readonly string[]): void {
    const { cells } = this.#options;
    if (cells.length === 1) return;
    for (const name of names) {
      if (this.#begun.has(name)) continue;
      this.#begun.add(name);
      this.#share(
        name,
        cells.map(() => 0),
      );
    }
  }

  stop(): Promise<void> {
    return this.#looks.stop();
  }

  /** Divides them anew, or joins the look under way. Never rejects. */
  look(): Promise<void> {
    return this.#looks.look();
  }

  async #look(): Promise<void> {
    const { cells, names } = this.#options;
    for (const name of names()) {
      const weights = await Promise.all(cells.map((cell) => this.#weigh(cell, name)));
      this.#share(name, weights);
    }
  }

  /** Says what a cell has to do for a queue, smoothed, so that a tenant that comes and goes does not take the slots to and fro. */
  async #weigh({ name: cell, queue, consumer }: SharingCell, name: string): Promise<number> {
    const key = `${cell} ${name}`;
    try {
      const { waiting } = await queue.depth(name);
      const now = waiting + consumer.inHand(name);
      const smoothed = smoothing * now + (1 - smoothing) * (this.#smoothed.get(key) ?? now);
      this.#smoothed.set(key, smoothed);
      return smoothed;
    } catch {
      this.#smoothed.delete(key);
      return 0;
    }
  }

  #share(name: string, weights: readonly number[]): void {
    const { cells, slots } = this.#options;
    const least = cells[0]?.consumer.leastSlots ?? 1;
    const shares = divide(slots, weights, least).map((share) => Math.max(share, least));
    // Jobs beyond the share of their cell go on, and another cell has less until they have ended.
    const taken = cells.map(({ consumer }, at) => Math.max(shares[at] ?? 0, consumer.inHand(name)));
    const all = taken.reduce((sum, each) => sum + each, 0);
    for (const [at, { consumer }] of cells.entries()) {
      const left = slots - (all - (taken[at] ?? 0));
      consumer.setSlots(name, Math.max(least, Math.min(shares[at] ?? 0, left)));
    }
  }
}
