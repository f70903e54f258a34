import { QueryClient, queryOptions } from '@tanstack/react-query';
import { ApiError, UnreachableError } from './api-error.ts';
import { getJson, type Search } from './request.ts';

/** Tries again after errors that may pass: no answer, an overload, a failure of the service. A refusal is shown at once. */
function isWorthRetrying(failures: number, error: Error): boolean {
  if (failures >= 3) return false;
  return !(error instanceof ApiError) || error.status === 429 || error.status >= 500;
}

/** How soon a query that got no answer asks again, in milliseconds. */
const againAfterMs = 3_000;

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        retry: isWorthRetrying,
        // Queries that wait for the service run again by themselves when it is back.
        refetchInterval: ({ state }) => (state.error instanceof UnreachableError ? againAfterMs : false),
        staleTime: 5_000,
        gcTime: 5 * 60_000,
      },
      mutations: { retry: false },
    },
  });
}

/** The options of a query that reads a path of the admin API: `useQuery(adminQuery<Overview>('/overview'))`. */
export function adminQuery<T>(path: string, search: Search = {}) {
  return queryOptions({
    queryKey: [path, search],
    queryFn: ({ signal }) => getJson<T>(path, search, signal),
  });
}

/**
 * The options of a query whose search counts back from now. `search` makes it of the moment of each reading in Unix milliseconds,
 * and `key` stands for it, so that what was read stays shown while the moment moves on.
 */
export function recentQuery<T>(
  path: string,
  { key, search }: { key: Search; search: (nowMs: number) => Search },
) {
  return queryOptions({
    queryKey: [path, key],
    queryFn: ({ signal }) => getJson<T>(path, search(Date.now()), signal),
  });
}
