import type { RedisCell } from '@sluice/runtime';

/** A cell as operators have changed it while the service ran. */
export interface StoredCell {
  /** Its address; absent for a cell that REDIS_URL names. */
  url?: string;
  /** Whether it takes new responses once the change holds, and before. */
  isOpen: boolean;
  wasOpen: boolean;
  /** When the change begins to hold, in milliseconds of the clock of the first cell. */
  from: number;
  /** It was added, and not every process can reach it yet. */
  isJoining?: true;
  /** It was taken away, and processes leave it. A cell of which nothing is stored is not left: the store may have lost that. */
  isGone?: true;
}

/**
 * Takes new responses; will take some in a moment; takes none; was added, and takes some once every process can reach it.
 */
export type CellState = 'open' | 'opening' | 'draining' | 'joining';

/**
 * The cells that take new responses. The addresses say it at the start, and an operator while the service runs: such a change is stored with the time at
 * which it begins to hold, which is the same in every process.
 */
export class CellStates {
  readonly #configured: readonly RedisCell[];
  readonly #now: () => number;
  #stored: ReadonlyMap<string, StoredCell> = new Map();
  #gone: ReadonlyMap<string, StoredCell> = new Map();
  #open: { cells: readonly string[]; until: number };

  /** `now`: the clock of the first cell, in milliseconds. */
  constructor(configured: readonly RedisCell[], now: () => number) {
    this.#configured = configured;
    this.#now = now;
    this.#open = this.#openAt(Number.NEGATIVE_INFINITY);
  }

  /** What is stored of cells from now on, and of those that were taken away, by their names. */
  take(stored: ReadonlyMap<string, StoredCell>, gone: ReadonlyMap<string, StoredCell> = new Map()): void {
    this.#stored = stored;
    this.#gone = gone;
    this.#open = this.#openAt(this.#now());
  }

  /** The cells that take new responses. */
  get open(): readonly string[] {
    if (this.#open.until !== Number.POSITIVE_INFINITY) {
      const now = this.#now();
      if (now >= this.#open.until) this.#open = this.#openAt(now);
    }
    return this.#open.cells;
  }

  /** The sets of cells that will take new responses, as far as changes are stored that do not hold yet. */
  get coming(): readonly (readonly string[])[] {
    const sets: (readonly string[])[] = [];
    for (let { until } = this.#open; until !== Number.POSITIVE_INFINITY; ) {
      const next = this.#openAt(until);
      sets.push(next.cells);
      ({ until } = next);
    }
    return sets;
  }

  /** Whether REDIS_URL names a cell. */
  isConfigured(name: string): boolean {
    return this.#configured.some((each) => each.name === name);
  }

  of(name: string): CellState {
    if (this.open.includes(name)) return 'open';
    const stored = this.#stored.get(name);
    if (stored?.isJoining) return 'joining';
    return stored?.isOpen ? 'opening' : 'draining';
  }

  #openAt(now: number): { cells: readonly string[]; until: number } {
    const isOpen = new Map(this.#configured.map(({ name, isDraining }) => [name, !isDraining]));
    for (const [name, stored] of this.#stored)
      if (stored.url !== undefined || isOpen.has(name))
        isOpen.set(name, (isOpen.get(name) ?? true) && isOpenAt(stored, now));
    // Another process may have taken it away whose REDIS_URL does not name it.
    for (const name of this.#gone.keys()) if (isOpen.has(name)) isOpen.set(name, false);
    const later = [...this.#stored.values()].map(({ from }) => from).filter((from) => from > now);
    const cells = [...isOpen].filter(([, is]) => is).map(([name]) => name);
    return { cells, until: Math.min(Number.POSITIVE_INFINITY, ...later) };
  }
}

export function isOpenAt({ isOpen, wasOpen, from }: StoredCell, now: number): boolean {
  return now >= from ? isOpen : wasOpen;
}
