import type { ResponseRow, RowsEvent } from '@sluice/contract/admin';

/** The rows of a list that is kept up to date: those that are shown, and new ones that wait to be shown. */
export interface LiveRows {
  shown: readonly ResponseRow[];
  /** Those that match by now and have their place in what was read, newest first. */
  fresh: readonly ResponseRow[];
  /**
   * When the last row of the last page was accepted: the list was read to there, also when that row no longer matches. What is
   * older comes with the next page. 0 before there is any.
   */
  readTo: number;
  /** Rows were left out, between those that are there or behind them, so the list has to be read anew. */
  hasGap: boolean;
}

export const noRows: LiveRows = { shown: [], fresh: [], readTo: 0, hasGap: false };

/**
 * How many new rows are kept apart, and how many the service tells of at once. Past that the list is read anew when they are
 * asked for.
 */
export const mostFresh = 500;

/** How many rows are shown to a reader at the top of the list, who sees new ones at once. Past that the list is read anew. */
export const mostAtTop = 1_000;

/**
 * Takes in changes: rows that are shown change in place, and new ones are gathered apart, so that nothing moves under the
 * reader's eyes. An older response is new to a list when it begins to match its filter, as one does that fails.
 */
export function foldRows(rows: LiveRows, { rows: changed, gone = [], total }: RowsEvent): LiveRows {
  const news = new Map(changed.map((row) => [row.id, row]));
  const left = new Set<string>(gone);
  const takeIn = (row: ResponseRow) => {
    const next = news.get(row.id) ?? row;
    news.delete(row.id);
    return next;
  };
  const shown = rows.shown.filter(({ id }) => !left.has(id)).map(takeIn);
  const known = rows.fresh.filter(({ id }) => !left.has(id)).map(takeIn);
  // Older rows come with the next page, if there is one.
  const isWhole = shown.length + known.length + news.size >= total;
  const oldest = isWhole ? 0 : rows.readTo;
  const added = [...news.values()].filter(({ accepted_at: at }) => at >= oldest);
  const fresh = newestFirst([...added, ...known]);
  const isCut = fresh.length > mostFresh || added.length >= mostFresh;
  return { ...rows, shown, fresh: fresh.slice(0, mostFresh), hasGap: rows.hasGap || isCut };
}

/** Shows the gathered rows in their places, to a reader at the top of the list: as many as are kept there. */
export function showFresh(rows: LiveRows): LiveRows {
  const { shown, fresh, hasGap } = rows;
  const all = newestFirst([...fresh, ...shown]);
  const isLong = fresh.length > 0 && all.length > mostAtTop;
  return { ...rows, shown: isLong ? all.slice(0, mostAtTop) : all, fresh: [], hasGap: hasGap || isLong };
}

/** Rows with the same time keep their order. */
function newestFirst(rows: readonly ResponseRow[]): ResponseRow[] {
  return rows.toSorted((one, other) => other.accepted_at - one.accepted_at);
}

/** The list from its first page, and the changes that came while that was read, which may be newer. */
export function firstPage(page: readonly ResponseRow[], news: readonly RowsEvent[]): LiveRows {
  return showFresh(addPage(noRows, page, news));
}

/** Puts another page of older rows behind those that are there, and takes in the changes that came while it was read. */
export function addPage(rows: LiveRows, page: readonly ResponseRow[], news: readonly RowsEvent[]): LiveRows {
  const known = new Set([...rows.shown, ...rows.fresh].map(({ id }) => id));
  const shown = [...rows.shown, ...page.filter(({ id }) => !known.has(id))];
  return news.reduce(foldRows, { ...rows, shown, readTo: page.at(-1)?.accepted_at ?? rows.readTo });
}
