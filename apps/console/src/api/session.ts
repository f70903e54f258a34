import type { Session } from '@sluice/contract/admin';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { actionToken, actionTokenHeader } from './action-token.ts';
import { adminUrl, fetchAdmin, getJson } from './request.ts';

/** Facts about the service, and whether this tab may act. Read again when the token changes. */
export function useSession() {
  const token = useSyncExternalStore(actionToken.subscribe, () => actionToken.value);
  return useQuery(sessionQuery(token));
}

/** The options of the query for the session of a token. */
export function sessionQuery(token: string | undefined) {
  return queryOptions({
    queryKey: ['/session', token],
    queryFn: ({ signal }) => getJson<Session>('/session', {}, signal),
    staleTime: 60_000,
  });
}

/** Asks the service about a token, before the token is kept. */
export async function fetchSession(token: string): Promise<Session> {
  const response = await fetchAdmin(adminUrl('/session'), { headers: { [actionTokenHeader]: token } });
  return (await response.json()) as Session; // The API's own answer.
}
