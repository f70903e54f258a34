import {
  type Counted,
  type FacetField,
  facetFields,
  type ResponseSearch,
  type ResponseRow,
} from '@sluice/contract/admin';
import { type IndexedRow, printRow } from './indexed-row.ts';
import { type RowFilter, rowFilter, valueOf } from './row-filter.ts';
import type { RowShape } from './row-shapes.ts';
import { compareRows, type RowTable } from './row-table.ts';

/** Most values of a field that a facet lists. */
const mostValues = 100;

export interface RowPage {
  rows: ResponseRow[];
  hasMore: boolean;
  /** For `after`; null on the last page. */
  next: string | null;
  /** How many match in all. */
  total: number;
}

/** Where a page ends: the response that was its last. */
export interface RowCursor {
  acceptedAt: number;
  subject: string;
}

/** Parses a cursor; undefined for any other text. */
export function parseCursor(text: string): RowCursor | undefined {
  const found = /^(\d{1,15})\.([A-Za-z0-9]{1,64})$/.exec(text);
  if (!found) return undefined;
  return { acceptedAt: Number(found[1]), subject: found[2] ?? '' };
}

/** A page of the rows that match, newest first, and how many there are in all. */
export function listRows(
  table: RowTable,
  filter: ResponseSearch,
  { after, limit }: { after?: RowCursor | undefined; limit: number },
): RowPage {
  const matches = rowFilter(filter);
  const rows = table.sorted();
  const { first, end } = spanOf(rows, matches);
  const from = after ? Math.min(end, placeOf(rows, after)) : end;
  const page: IndexedRow[] = [];
  let at = from - 1;
  for (; at >= first && page.length <= limit; at -= 1) {
    const row = rows[at];
    if (row && matches.test(row)) page.push(row);
  }
  const older = countIn(rows, matches, { first, end: at + 1 });
  const total = older + page.length + countIn(rows, matches, { first: from, end });
  const hasMore = page.length > limit;
  if (hasMore) page.pop();
  const last = page.at(-1);
  const next = hasMore && last ? `${last.acceptedAt}.${last.subject}` : null;
  return { rows: page.map(printRow), hasMore, next, total };
}

/** How many rows match. */
export function countRows(table: RowTable, filter: ResponseSearch): number {
  const rows = table.sorted();
  const matches = rowFilter(filter);
  return countIn(rows, matches, spanOf(rows, matches));
}

/** The ids of all rows that match, without their prefix, newest first. */
export function subjectsOf(table: RowTable, filter: ResponseSearch): string[] {
  const rows = table.sorted();
  const matches = rowFilter(filter);
  const { first, end } = spanOf(rows, matches);
  const found = rows.slice(first, end).filter((row) => matches.test(row));
  return found.map(({ subject }) => subject).toReversed();
}

/**
 * Returns the values of each field, or of the one that is asked for, among the rows that match the other fields of the filter,
 * the most frequent first. `prefix` narrows them to values that begin with it, in any case.
 */
export function facetsOf(
  table: RowTable,
  filter: ResponseSearch,
  { field, prefix = '' }: { field?: FacetField | undefined; prefix?: string | undefined } = {},
): Partial<Record<FacetField, Counted[]>> {
  const matches = rowFilter(filter);
  const rows = table.sorted();
  const { first, end } = spanOf(rows, matches);
  const shapes: RowShape[] = [];
  for (let at = first; at < end; at += 1) {
    const row = rows[at];
    if (!row?.shape || matches.misses(row) < 0) continue;
    if (row.shape.count === 0) shapes.push(row.shape);
    row.shape.count += 1;
  }
  const counted = facetFields.map((name, at) => ({ name, values: countsOf(shapes, name, ~(1 << at)) }));
  const begin = prefix.toLowerCase();
  const facets: Partial<Record<FacetField, Counted[]>> = {};
  for (const { name, values } of counted) {
    if (field !== undefined && field !== name) continue;
    facets[name] = [...values]
      .filter(([value]) => begin === '' || value.toLowerCase().startsWith(begin))
      .map(([value, count]) => ({ value, count }))
      .toSorted((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1))
      .slice(0, mostValues);
  }
  return facets;
}

/** How many rows have each value of a field, among the rows that match all the other fields. */
function countsOf(shapes: readonly RowShape[], field: FacetField, others: number): Map<string, number> {
  const values = new Map<string, number>();
  for (const shape of shapes) {
    const value = valueOf(shape, field);
    if (value === null || (shape.missed & others) !== 0) continue;
    values.set(value, (values.get(value) ?? 0) + shape.count);
  }
  return values;
}

/** Where the rows of the filter's time begin, and where they end. */
function spanOf(rows: readonly IndexedRow[], { from, to }: RowFilter): { first: number; end: number } {
  const end = Number.isFinite(to) ? placeOf(rows, { acceptedAt: to, subject: '' }) : rows.length;
  return { first: placeOf(rows, { acceptedAt: from, subject: '' }), end };
}

function countIn(
  rows: readonly IndexedRow[],
  matches: RowFilter,
  { first, end }: { first: number; end: number },
): number {
  if (matches.isOpen) return Math.max(0, end - first);
  let total = 0;
  for (let at = first; at < end; at += 1) {
    const row = rows[at];
    if (row && matches.test(row)) total += 1;
  }
  return total;
}

/** How many rows are before this one in the order. */
function placeOf(rows: readonly IndexedRow[], cursor: RowCursor): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = rows[middle];
    if (row && compareRows(row, cursor) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
