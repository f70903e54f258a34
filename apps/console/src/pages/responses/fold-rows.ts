import type { ResponseRow, RowsEvent } from '@sluice/contract/admin';

/** The rows of a list that is kept up to date: those that are shown, and new ones that wait to be shown. */
export interface LiveRows {
  shown: readonly ResponseRow[];
  /** Newer than the first that is shown, newest first. */
  fresh: readonly ResponseRow[];
}

/** How many new rows are kept apart. Past that the list is read anew when they are asked for. */
export const mostFresh = 500;

/**
 * Takes in changes: rows that are shown change in place, and new ones are gathered apart, so that nothing moves under the
 * reader's eyes.
 */
export function foldRows(rows: LiveRows, { rows: changed, gone = [] }: RowsEvent): LiveRows {
  const news = new Map(changed.map((row) => [row.id, row]));
  const left = new Set<string>(gone);
  const takeIn = (row: ResponseRow) => {
    const next = news.get(row.id) ?? row;
    news.delete(row.id);
    return next;
  };
  const shown = rows.shown.filter(({ id }) => !left.has(id)).map(takeIn);
  const known = rows.fresh.filter(({ id }) => !left.has(id)).map(takeIn);
  const newest = shown[0]?.accepted_at ?? 0;
  const added = [...news.values()].filter(({ accepted_at: at }) => at >= newest);
  const fresh = [...added, ...known].toSorted((one, other) => other.accepted_at - one.accepted_at);
  return { shown, fresh: fresh.slice(0, mostFresh) };
}

/** Shows the gathered rows. */
export function showFresh({ shown, fresh }: LiveRows): LiveRows {
  return { shown: [...fresh, ...shown], fresh: [] };
}

/** The list from its first page, and the changes that came while that was read, which may be newer. */
export function firstPage(page: readonly ResponseRow[], news: readonly RowsEvent[]): LiveRows {
  return showFresh(news.reduce(foldRows, { shown: page, fresh: [] }));
}

/** Puts another page of older rows behind those that are there. */
export function addPage(rows: LiveRows, page: readonly ResponseRow[]): LiveRows {
  const known = new Set([...rows.shown, ...rows.fresh].map(({ id }) => id));
  return { ...rows, shown: [...rows.shown, ...page.filter(({ id }) => !known.has(id))] };
}
