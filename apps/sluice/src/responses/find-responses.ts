import { badUsage } from '../command-flags.ts';
import type { ApiClient } from '../api-client.ts';
import type { ShownResponse } from './shown-response.ts';

export const statuses = ['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] as const;

export interface ResponsesToFind {
  limit?: string;
  after?: string;
  /** One of `statuses`; undefined for every status. */
  status: string | undefined;
}

export interface FoundResponses {
  responses: ShownResponse[];
  /** The flags with which the list goes on; undefined at its end. */
  next: string | undefined;
}

/** The API cannot filter by status, so pages are searched: at most so many, because each counts as a read of the tenant. */
const mostPages = 10;

/**
 * The newest responses of the caller, or those of a status among the newest thousand.
 *
 * @throws {FatalError} with exit code 2 for an invalid limit.
 */
export async function findResponses(
  client: Pick<ApiClient, 'json'>,
  { limit = '20', after, status }: ResponsesToFind,
): Promise<FoundResponses> {
  if (status === undefined) {
    const { data, has_more } = await readPage(client, limit, after);
    return { responses: data, next: has_more ? `--after ${data.at(-1)?.id}` : undefined };
  }
  const wanted = Number(limit);
  if (!(wanted >= 1 && wanted <= 100)) throw badUsage('responses', '--limit: must be a number from 1 to 100');
  const responses: ShownResponse[] = [];
  let last = after;
  for (let page = 0; page < mostPages; page += 1) {
    const { data, has_more } = await readPage(client, '100', last);
    for (const response of data) {
      last = response.id;
      if (response.status === status) responses.push(response);
      if (responses.length === wanted) return { responses, next: `--status ${status} --after ${last}` };
    }
    if (!has_more) return { responses, next: undefined };
  }
  return { responses, next: `--status ${status} --after ${last}` };
}

function readPage(
  client: Pick<ApiClient, 'json'>,
  limit: string,
  after: string | undefined,
): Promise<{ data: ShownResponse[]; has_more: boolean }> {
  const query = new URLSearchParams({ limit, ...(after && { after }) });
  return client.json('GET', `?${query.toString()}`);
}
