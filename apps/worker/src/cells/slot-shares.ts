import {
  type CellOfQueues,
  divide,
  type QueueConsumer,
  type QueueDemand,
  readDemand,
  readFairShares,
  RegularLook,
} from '@sluice/queue';

/** How often the shares follow what waits, in milliseconds. */
const shareEveryMs = 1_000;

/** So many looks use the shares of a queue whose slots are too few: every worker reads who waits there, which is dear. */
const fairEveryLooks = 3;

/** The weight of the last look in the smoothed shares. */
const smoothing = 0.5;

/** A cell that has a share of the slots. */
export interface SharingCell {
  queues: CellOfQueues;
  consumer: Pick<QueueConsumer, 'setSlots' | 'inHand' | 'leastSlots'>;
}

export interface SlotSharesOptions {
  cells: () => readonly SharingCell[];
  /** The names of the queues, read at each look. */
  names: () => readonly string[];
  /** Slots of this process for each queue, in all cells together. */
  slots: number;
  /** Called when cells are joined that have fewer slots than they keep together: they may run so many more at a time than there are. */
  onTooFew: (found: { slots: number; kept: number }) => void;
}

/**
 * Divides the slots of a worker for a queue over the cells each second. While there are enough of them, each cell has what it needs. When there are too
 * few, they are shared as fairly between tenants as if there were one cell. Every cell keeps one or a few, so that a response in an idle one begins
 * at once; a cell that does not answer keeps these alone. Where there are fewer slots than the cells keep together, a worker runs more than its
 * slots: to hold all cells but one would keep responses waiting while nothing runs.
 */
export class SlotShares {
  readonly #options: SlotSharesOptions;
  /** The parts of the slots of a queue by cell, smoothed, so that a tenant that comes and goes does not take them to and fro. */
  readonly #parts = new Map<string, number[]>();
  /** The fair shares of queues whose slots are too few, and how many looks have used them. */
  readonly #fair = new Map<string, { shares: (number | undefined)[]; looks: number }>();
  readonly #begun = new Set<string>();
  #isRunning = false;
  readonly #looks = new RegularLook(() => this.#look(), shareEveryMs);

  constructor(options: SlotSharesOptions) {
    this.#options = options;
  }

  /** With one cell there is nothing to divide. */
  start(): void {
    this.#isRunning = true;
    const { cells, names, slots, onTooFew } = this.#options;
    if (cells().length === 1) return;
    const kept = sum(cells().map(leastOf));
    if (kept > slots) onTooFew({ slots, kept });
    this.begin(names());
    this.#looks.start();
  }

  /** Begins anew with other cells. */
  cellsChanged(): void {
    this.#begun.clear();
    this.#parts.clear();
    this.#fair.clear();
    if (this.#isRunning) this.start();
  }

  /** Divides the slots of queues evenly whose jobs are not taken yet. */
  begin(names: readonly string[]): void {
    const cells = this.#options.cells();
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
    this.#isRunning = false;
    return this.#looks.stop();
  }

  /** Divides them anew, or joins the look under way. Never rejects. */
  look(): Promise<void> {
    return this.#looks.look();
  }

  async #look(): Promise<void> {
    for (const name of this.#options.names()) {
      const cells = this.#options.cells();
      const weights = await this.#weigh(name, cells);
      if (cells !== this.#options.cells()) return; // They are divided anew.
      const all = sum(weights.map((weight = 0) => weight));
      const before = all > 0 ? this.#parts.get(name) : undefined;
      const parts = weights.map((weight, at) => {
        const now = weight === undefined || all === 0 ? 0 : weight / all;
        return weight === undefined ? now : smoothing * now + (1 - smoothing) * (before?.[at] ?? now);
      });
      this.#parts.set(name, parts);
      this.#share(name, parts);
    }
  }

  /** Says how much of the slots each cell should have, in any unit; undefined for one that does not answer. */
  async #weigh(name: string, cells: readonly SharingCell[]): Promise<(number | undefined)[]> {
    const { slots } = this.#options;
    const inHand = cells.map(({ consumer }) => consumer.inHand(name));
    const demands = await this.#read(name, cells, 0);
    const isEnough = sum(demands.map((demand) => demand?.waiting ?? 0)) <= slots - sum(inHand);
    if (isEnough) {
      this.#fair.delete(name);
      return demands.map((demand, at) => demand && demand.waiting + (inHand[at] ?? 0));
    }
    const last = this.#fair.get(name);
    const isRecent = last !== undefined && last.looks < fairEveryLooks;
    const shares = isRecent ? last.shares : await this.#fairShares(name, cells);
    this.#fair.set(name, { shares, looks: isRecent ? last.looks + 1 : 1 });
    return shares.map((share, at) => (demands[at] ? (share ?? 0) : undefined));
  }

  async #fairShares(name: string, cells: readonly SharingCell[]): Promise<(number | undefined)[]> {
    const { slots } = this.#options;
    const demands = await this.#read(name, cells, slots);
    const there = cells.flatMap(({ queues: cell }, at) => {
      const demand = demands[at];
      return demand ? [{ at, cell, demand }] : [];
    });
    // All workers run about as many as may run.
    const mayRun = Math.max(slots, sum(there.map(({ demand }) => demand.running)));
    const shares = await readFairShares(name, there, mayRun);
    const ofCells: (number | undefined)[] = cells.map(() => undefined);
    for (const [nth, { at }] of there.entries()) ofCells[at] = shares[nth];
    return ofCells;
  }

  async #read(
    name: string,
    cells: readonly SharingCell[],
    most: number,
  ): Promise<(QueueDemand | undefined)[]> {
    const read = await Promise.allSettled(cells.map(({ queues }) => readDemand(queues, name, most)));
    return read.map((each) => (each.status === 'fulfilled' ? each.value : undefined));
  }

  #share(name: string, weights: readonly number[]): void {
    const { slots } = this.#options;
    const cells = this.#options.cells();
    const leasts = cells.map(leastOf);
    const rest = Math.max(slots - sum(leasts), 0);
    const shares = divide(rest, weights).map((share, at) => (leasts[at] ?? 1) + share);
    // Jobs beyond the share of their cell go on, and another cell has less until they have ended.
    const taken = cells.map(({ consumer }, at) => Math.max(shares[at] ?? 0, consumer.inHand(name)));
    const all = sum(taken);
    for (const [at, { consumer }] of cells.entries()) {
      const left = slots - (all - (taken[at] ?? 0));
      consumer.setSlots(name, Math.max(leasts[at] ?? 1, Math.min(shares[at] ?? 0, left)));
    }
  }
}

/** The fewest slots that a cell keeps. */
function leastOf({ consumer }: SharingCell): number {
  return Math.max(1, consumer.leastSlots);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
