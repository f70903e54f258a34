import type { Overview } from '@sluice/contract/admin';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
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
 * it, so after a lost connection everything is read anew. While the service says that it cannot read it, that is its error.
 */
export function useOverview() {
  const client = useQueryClient();
  const query = useQuery({
    ...overviewQuery,
    refetchInterval: ({ state }) => (state.status === 'error' ? againAfterMs : false),
    refetchOnWindowFocus: false,
  });
  const [unavailable, setUnavailable] = useState<ApiError | null>(null);
  const live = useLive('/overview/events', ({ event, data }) => {
    if (event === 'unavailable') setUnavailable(unavailableOf(data as UnavailableEvent)); // The API's own event.
    if (event !== 'overview') return;
    setUnavailable(null);
    client.setQueryData<Overview>(
      overviewQuery.queryKey,
      (before) => (before === undefined ? undefined : foldOverview(before, data as Overview)), // The API's own event.
    );
  });
  const { data, error, failureReason, dataUpdatedAt, refetch } = query;
  const wasLive = useRef(false);
  useEffect(() => {
    if (live !== 'live') return;
    if (wasLive.current) void refetch();
    wasLive.current = true;
  }, [live, refetch]);
  return { data, error: error ?? unavailable, failureReason, dataUpdatedAt, refetch };
}

interface UnavailableEvent {
  error: ConstructorParameters<typeof ApiError>[1];
}

/** The error as it would be the answer to a reading. */
function unavailableOf({ error }: UnavailableEvent): ApiError {
  return new ApiError(503, error);
}
