import { type IndexedRow, isOpenRow, newRow } from './indexed-row.ts';
import { RowShapes } from './row-shapes.ts';

/** The fields of a row that a filter reads and a line may change. */
export interface RowBefore {
  /** Whether it was listed at all. */
  isListed: boolean;
  status: IndexedRow['status'];
  code: string | null;
}

/**
 * Bytes that all rows may take together, for each row that is kept: twice those of an everyday row. Larger rows push out the
 * oldest ones.
 */
export const bytesPerRow = 1_024;

/** Memory of a row besides its entries, in bytes. */
const ownBytes = 400;

/** Most rows that are passed in search of the place of a new one. Beyond that, all rows are sorted. */
const mostPassed = 200;

/**
 * The rows of the index by id, and by the time of acceptance. It keeps the newest `keep`. `onChange` is told of rows that
 * are changed or dropped, with their values before.
 */
export class RowTable {
  readonly #keep: number;
  readonly #byId = new Map<string, IndexedRow>();
  readonly #open = new Set<IndexedRow>();
  readonly #onChange: (row: IndexedRow, before: RowBefore) => void;
  /** Rows without a known time. At most as many as are kept. */
  readonly #unplaced = new Set<IndexedRow>();
  readonly #shapes: RowShapes;
  /** Oldest first, once it is sorted. */
  #rows: IndexedRow[] = [];
  #isSorted = true;
  #bytes = 0;

  constructor({
    keep,
    onChange = () => undefined,
  }: {
    keep: number;
    onChange?: (row: IndexedRow, before: RowBefore) => void;
  }) {
    this.#keep = keep;
    this.#shapes = new RowShapes(keep);
    this.#onChange = onChange;
  }

  /** Rows that are listed. */
  get size(): number {
    return this.#rows.length;
  }

  get isFull(): boolean {
    return this.#rows.length >= this.#keep || this.#bytes >= this.#mostBytes;
  }

  /** Approximate memory of all rows, in bytes, those that are not listed included. */
  get bytes(): number {
    return this.#bytes;
  }

  get(subject: string): IndexedRow | undefined {
    return this.#byId.get(subject);
  }

  /** Rows of responses without a known end, those without a known time included. */
  get open(): ReadonlySet<IndexedRow> {
    return this.#open;
  }

  /** The rows, oldest first. Not to be changed. */
  sorted(): readonly IndexedRow[] {
    if (!this.#isSorted) {
      // Mostly in order already, which the sort notices.
      this.#rows.sort(compareRows);
      this.#isSorted = true;
    }
    return this.#rows;
  }

  /** Changes the row of a response, which is made when there is none. */
  change(subject: string, change: (row: IndexedRow) => void): void {
    const known = this.#byId.get(subject);
    const row = known ?? newRow(subject);
    const { acceptedAt, status, code } = row;
    const bytes = known ? bytesOf(row) : 0;
    const isListed = acceptedAt > 0;
    change(row);
    this.#bytes += bytesOf(row) - bytes;
    this.#share(row);
    this.#byId.set(subject, row);
    if (isOpenRow(row)) this.#open.add(row);
    else this.#open.delete(row);
    if (row.acceptedAt === 0) {
      this.#wait(row);
      return;
    }
    if (!isListed) this.#place(row);
    // A process that knew the time less exactly has written first.
    else if (row.acceptedAt !== acceptedAt) this.#isSorted = false;
    this.#onChange(row, { isListed, status, code });
    this.#evict();
  }

  /** Forgets a row without a known time. */
  drop(row: IndexedRow): void {
    if (!this.#unplaced.delete(row)) return;
    this.#forget(row);
  }

  #forget(row: IndexedRow): void {
    this.#bytes -= bytesOf(row);
    this.#byId.delete(row.subject);
    this.#open.delete(row);
  }

  #wait(row: IndexedRow): void {
    this.#unplaced.add(row);
    if (this.#unplaced.size > this.#keep) this.#dropUnplaced();
    this.#evict();
  }

  #place(row: IndexedRow): void {
    this.#unplaced.delete(row);
    const rows = this.#rows;
    // Two processes write a moment after each other, so a row may belong before some others, though seldom before many.
    let at = rows.length;
    while (at > 0 && rows.length - at < mostPassed && isBehind(rows[at - 1], row)) at -= 1;
    if (isBehind(rows[at - 1], row)) this.#isSorted = false;
    if (at === rows.length || !this.#isSorted) rows.push(row);
    else rows.splice(at, 0, row);
  }

  #dropUnplaced(): void {
    const [oldest] = this.#unplaced;
    if (oldest) this.drop(oldest);
  }

  get #mostBytes(): number {
    return this.#keep * bytesPerRow;
  }

  /** Drops one row in a hundred at a time, because each time moves all others. */
  #evict(): void {
    // Rows without a known time come first: most of them are remains of rows that were dropped.
    while (this.#bytes > this.#mostBytes && this.#unplaced.size > 0) this.#dropUnplaced();
    const slack = Math.ceil(this.#keep / 100);
    const hasManyBytes = this.#bytes > this.#mostBytes && this.#rows.length > 0;
    if (this.#rows.length <= this.#keep + slack && !hasManyBytes) return;
    const rows = this.sorted();
    const leastGone = Math.max(rows.length - this.#keep, hasManyBytes ? slack : 0);
    let gone = 0;
    while (gone < rows.length && (gone < leastGone || this.#bytes > this.#mostBytes)) {
      const row = rows[gone];
      if (row) this.#forget(row);
      gone += 1;
    }
    this.#rows = rows.slice(gone);
  }

  /** Rows of one shape hold one copy of its texts. */
  #share(row: IndexedRow): void {
    const shape = this.#shapes.of(row);
    if (row.shape === shape) return;
    row.shape = shape;
    row.tenant = shape.tenant;
    row.model = shape.model;
    row.tier = shape.tier;
    row.mode = shape.mode;
    row.code = shape.code;
  }
}

function bytesOf({ bytes, digests }: IndexedRow): number {
  return ownBytes + bytes + digests.length;
}

function isBehind(other: IndexedRow | undefined, row: IndexedRow): boolean {
  return other !== undefined && compareRows(other, row) > 0;
}

/** Oldest first; those of one millisecond by their ids. */
export function compareRows(
  one: { acceptedAt: number; subject: string },
  other: { acceptedAt: number; subject: string },
): number {
  if (one.acceptedAt !== other.acceptedAt) return one.acceptedAt - other.acceptedAt;
  if (one.subject === other.subject) return 0;
  return one.subject < other.subject ? -1 : 1;
}
