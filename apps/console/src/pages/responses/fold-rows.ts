import type { ResponseRow, RowsEvent } from '@sluice/contract/admin';

/** The rows of a list that is kept up to date: those that are shown, and new ones that wait to be shown. */
export interface LiveRows {
  shown: readonly ResponseRow[];
  /** Newer than the first that is shown, newest first. */
  fresh: readonly ResponseRow[];
  /** Rows were left out, between those that are there or behind them, so the list has to be read anew. */
  hasGap: boolean;
}

export const noRows: LiveRows = { shown: [], fresh: [], hasGap: false };

/**
 * How many new rows are kept apart, and how many the service tells of at once. Past that the list is read anew when they are
 * asked for.
 */
export const mostFresh = 500;

/** How many rows are shown to a reader at the top of the list, who sees new ones at once. Past that the list is read anew. */
export const mostAtTop = 1_000;

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
  const isCut = fresh.length > mostFresh || added.length >= mostFresh;
  return { shown, fresh: fresh.slice(0, mostFresh), hasGap: rows.hasGap || isCut };
}

/** Shows the gathered rows to a reader at the top of the list: as many as are kept there. */
export function showFresh({ shown, fresh, hasGap }: LiveRows): LiveRows {
  const all = [...fresh, ...shown];
  const isLong = fresh.length > 0 && all.length > mostAtTop;
  return { shown: isLong ? all.slice(0, mostAtTop) : all, fresh: [], hasGap: hasGap || isLong };
}

/** The list from its first page, and the changes that came while that was read, which may be newer. */
export function firstPage(page: readonly ResponseRow[], news: readonly RowsEvent[]): LiveRows {
  return showFresh(news.reduce(foldRows, { ...noRows, shown: page }));
}

/** Puts another page of older rows behind those that are there. */
export function addPage(rows: LiveRows, page: readonly ResponseRow[]): LiveRows {
  const known = new Set([...rows.shown, ...rows.fresh].map(({ id }) => id));
  return { ...rows, shown: [...rows.shown, ...page.filter(({ id }) => !known.has(id))] };
}
