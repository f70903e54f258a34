import type { ResponseSearch, ResponseRows, RowsEvent } from '@sluice/contract/admin';
import { useCallback, useEffect, useRef, useState } from 'react';
import type { LiveState } from '../../api/live-states.ts';
import { getJson } from '../../api/request.ts';
import { useLive } from '../../api/use-live.ts';
import { addPage, firstPage, foldRows, type LiveRows, noRows, showFresh } from './fold-rows.ts';

const pageSize = 100;

export interface Rows extends LiveRows {
  total: number | undefined;
  index: ResponseRows['index'] | undefined;
  error: unknown;
  isLoading: boolean;
  live: LiveState;
  /** Loads older rows, if there are any. */
  loadMore: () => void;
  showFresh: () => void;
  reload: () => void;
}

/** How soon a list is read again while its index is loading, or when it lacks rows, in milliseconds. */
const againAfterMs = 1_500;

/** The rows that match a filter: a page at a time, and kept up to date. `filter` changes only when its content does. */
export function useRows(filter: ResponseSearch): Rows {
  const [rows, setRows] = useState<LiveRows>(noRows);
  const [page, setPage] = useState<Omit<ResponseRows, 'data'>>();
  const [error, setError] = useState<unknown>();
  const [isLoading, setLoading] = useState(true);
  const [round, setRound] = useState(0);
  const current = useRef<AbortController>(undefined);
  /** For each page that is being read, the changes that came meanwhile. They may be newer than the page. */
  const told = useRef(new Set<RowsEvent[]>());

  const live = useLive(
    '/responses/events',
    ({ event, data }) => {
      if (event !== 'rows') return;
      const change = data as RowsEvent; // The API's own event; the contract says its shape.
      for (const news of told.current) news.push(change);
      setRows((before) => asSeen(foldRows(before, change)));
      setPage((before) => before && { ...before, total: change.total });
    },
    { search: filter },
  );

  const load = useCallback(
    async (after: string | undefined) => {
      const controller = new AbortController();
      if (after === undefined) current.current?.abort();
      current.current = controller;
      const news: RowsEvent[] = [];
      told.current.add(news);
      setLoading(true);
      try {
        const search = { ...filter, limit: pageSize, after };
        const { data, ...rest } = await getJson<ResponseRows>('/responses', search, controller.signal);
        if (after === undefined) setRows(firstPage(data, news));
        else setRows((before) => asSeen(addPage(before, data, news)));
        setPage({ ...rest, total: news.at(-1)?.total ?? rest.total });
        setError(undefined);
      } catch (caught) {
        if (!controller.signal.aborted) setError(caught);
      } finally {
        told.current.delete(news);
        if (!controller.signal.aborted) setLoading(false);
      }
    },
    [filter],
  );
  useEffect(() => {
    void load(undefined);
    return () => current.current?.abort();
  }, [load, round]);

  const reload = useCallback(() => setRound((before) => before + 1), []);
  const isIncomplete = !isLoading && (showsGap(rows) || page?.index.state === 'loading');
  useReloads(reload, { isLive: live === 'live', isIncomplete, round });

  const next = page?.next ?? undefined;
  return {
    ...rows,
    total: page?.total,
    index: page?.index,
    error,
    isLoading,
    live,
    loadMore: () => {
      // A table asks for more each time it is drawn. After a failure only its reader tries again.
      if (next !== undefined && !isLoading && error === undefined) void load(next);
    },
    showFresh: () => {
      if (rows.hasGap) reload();
      else setRows(showFresh);
      window.scrollTo({ top: 0 });
    },
    reload,
  };
}

/** Whether rows were left out among those that are shown. Where new ones wait to be shown, they are read with those. */
function showsGap({ hasGap, fresh }: LiveRows): boolean {
  return hasGap && fresh.length === 0;
}

/** A reader at the top of the page sees new rows at once. */
function asSeen(rows: LiveRows): LiveRows {
  return isAtTop() ? showFresh(rows) : rows;
}

/** Whether the reader is taken to look at the newest rows. */
export function isAtTop(): boolean {
  return window.scrollY < topOfPage;
}

/** Pixels from the top of the page. */
const topOfPage = 120;

/** Reads the list again once its connection is made, and every now and then while it is incomplete. */
function useReloads(
  reload: () => void,
  { isLive, isIncomplete, round }: { isLive: boolean; isIncomplete: boolean; round: number },
): void {
  // The connection does not tell of changes that came before it: at first, while the tab was hidden, or while it was lost.
  useEffect(() => {
    if (isLive) reload();
  }, [isLive, reload]);
  useEffect(() => {
    if (!isIncomplete) return undefined;
    const timer = setTimeout(reload, againAfterMs);
    return () => clearTimeout(timer);
  }, [isIncomplete, reload, round]);
}
