import type { Overview } from '@sluice/contract/admin';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { adminQuery } from '../../api/query-client.ts';
import { useLive } from '../../api/use-live.ts';
import { foldOverview, newerOverview } from './fold-overview.ts';

export const overviewQuery = {
  ...adminQuery<Overview>('/overview'),
  structuralSharing: (before: unknown, next: unknown) =>
    newerOverview(before as Overview | undefined, next as Overview), // Both are what the query reads.
};

/** How soon it is read again when that failed, in milliseconds. */
const againAfterMs = 5_000;

/**
 * The overview: read once, then kept up to date by its events. Each event has only the buckets that changed since the one before
 * it, so after a lost connection everything is read anew.
 */
export function useOverview() {
  const client = useQueryClient();
  const query = useQuery({
    ...overviewQuery,
    refetchInterval: ({ state }) => (state.status === 'error' ? againAfterMs : false),
    refetchOnWindowFocus: false,
  });
  const live = useLive('/overview/events', ({ event, data }) => {
    if (event !== 'overview') return;
    client.setQueryData<Overview>(
      overviewQuery.queryKey,
      (before) => (before === undefined ? undefined : foldOverview(before, data as Overview)), // The API's own event.
    );
  });
  const { refetch } = query;
  const wasLive = useRef(false);
  useEffect(() => {
    if (live !== 'live') return;
    if (wasLive.current) void refetch();
    wasLive.current = true;
  }, [live, refetch]);
  return query;
}
