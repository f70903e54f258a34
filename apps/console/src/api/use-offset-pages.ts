import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { getJson, type Search } from './request.ts';
import { uniqueRows } from './unique-rows.ts';

/** Rows of one request: the most that the service gives. */
const pageSize = 200;

/** Pages that are read again with the first one. A reader further down is not disturbed. */
const mostRefreshed = 3;

interface Page<Row> {
  data: Row[];
  has_more: boolean;
}

export interface OffsetPages<Row> {
  query: ReturnType<typeof useInfiniteQuery<Page<Row>>>;
  rows: readonly Row[];
  /** Reads the next page, if there is one and it is not on its way. */
  more: () => void;
  hasMore: boolean;
}

/**
 * A list of the admin API that comes in pages, read as far as the reader scrolls. A row that moved from one page to the next
 * meanwhile is listed once, by its key.
 */
export function useOffsetPages<Row>(
  path: string,
  { search, refreshMs, keyOf }: { search: Search; refreshMs: number; keyOf: (row: Row) => string | null },
): OffsetPages<Row> {
  const query = useInfiniteQuery({
    queryKey: [path, search],
    queryFn: ({ pageParam, signal }) =>
      getJson<Page<Row>>(path, { ...search, limit: pageSize, offset: pageParam }, signal),
    initialPageParam: 0,
    getNextPageParam: ({ has_more: hasMore }, pages) => (hasMore ? pages.length * pageSize : undefined),
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > mostRefreshed ? false : refreshMs),
    placeholderData: (before) => before,
  });
  const { data, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = query;
  const rows = useMemo(
    () => uniqueRows(data?.pages.flatMap((page) => page.data) ?? [], keyOf),
    [data, keyOf],
  );
  return {
    query,
    rows,
    more: () => {
      if (hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
    },
    hasMore: hasNextPage,
  };
}
