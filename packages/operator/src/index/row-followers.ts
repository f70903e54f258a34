import type { ResponseSearch } from '@sluice/contract/admin';
import {
  countRows,
  type IndexedRow,
  printRow,
  responseOfSubject,
  type RowBefore,
  type RowFilter,
  rowFilter,
  type RowTable,
} from '@sluice/journal';
import type { RowsNews } from './messages.ts';

/** Most rows of one piece of news, the newest. A follower that wants all of them lists them anew. */
const mostRows = 500;

interface Follower {
  filter: ResponseSearch;
  matches: RowFilter;
  total: number;
}

/** The followers of rows, each with a filter. `tell` tells them of the rows that changed, each once. */
export class RowFollowers {
  readonly #table: RowTable;
  readonly #onNews: (number: number, news: RowsNews) => void;
  readonly #followers = new Map<number, Follower>();
  /** Rows that changed since they were told, and what they were then. */
  readonly #changed = new Map<IndexedRow, RowBefore>();

  constructor({
    table,
    onNews,
  }: {
    table: RowTable;
    onNews: (number: number, news: RowsNews) => void;
  }) {
    this.#table = table;
    this.#onNews = onNews;
  }

  /** Begins to follow; the first news say how many match. */
  add(number: number, filter: ResponseSearch): void {
    const total = countRows(this.#table, filter);
    this.#followers.set(number, { filter, matches: rowFilter(filter), total });
    this.#onNews(number, { rows: [], gone: [], total });
  }

  delete(number: number): void {
    this.#followers.delete(number);
  }

  note(row: IndexedRow, before: RowBefore): void {
    if (this.#followers.size > 0 && !this.#changed.has(row)) this.#changed.set(row, before);
  }

  tell(): void {
    if (this.#changed.size === 0) return;
    for (const [number, follower] of this.#followers) this.#tellOne(number, follower);
    this.#changed.clear();
  }

  #tellOne(number: number, follower: Follower): void {
    const { matches, filter } = follower;
    const rows: IndexedRow[] = [];
    const gone: string[] = [];
    for (const [row, before] of this.#changed) {
      if (matches.test(row)) rows.push(row);
      else if (before.isListed && matches.test({ ...row, ...before, shape: undefined }))
        gone.push(responseOfSubject(row.subject));
    }
    const total = countRows(this.#table, filter);
    if (rows.length === 0 && gone.length === 0 && total === follower.total) return;
    follower.total = total;
    const newest = rows.toSorted((one, other) => other.acceptedAt - one.acceptedAt).slice(0, mostRows);
    this.#onNews(number, { rows: newest.map(printRow), gone: gone.slice(0, mostRows), total });
  }
}
