import { FatalError } from '@sluice/runtime';
import type { ApiClient } from '../api-client.ts';
import { printableJson, printableLine } from '../printable.ts';

/** The members of a response of the admin API that the command reads. */
export interface ResponseDetail {
  row: {
    id: string;
    tenant: string;
    model: string;
    status: string;
    accepted_at: number;
    attempts: number;
    error_code: string | null;
  };
  request_id: string | null;
  retry_of: string | null;
  retried_as: string[];
}

/**
 * Finds a response of any tenant: by its own id, or by that of the request that created it, which errors tell callers.
 *
 * @throws {FatalError} when the journal has none.
 */
export async function findByRequest(
  client: Pick<ApiClient, 'json'>,
  requestId: string,
): Promise<ResponseDetail> {
  if (!requestId.startsWith('req_')) return client.json('GET', `/${encodeURIComponent(requestId)}`);
  const query = new URLSearchParams({ request_id: requestId, limit: '5' });
  const { data } = await client.json<{ data: { id: string }[] }>('GET', `?${query.toString()}`);
  for (const { id } of data) {
    const detail = await client.json<ResponseDetail>('GET', `/${encodeURIComponent(id)}`);
    // The index searches by prefix, so the whole id is compared here.
    if (detail.request_id === requestId) return detail;
  }
  throw new FatalError(
    `The journal of the service knows of no response of '${requestId}': the request created none, or long ago.`,
  );
}

export function printDetail(detail: ResponseDetail, json: boolean): void {
  if (json) {
    console.log(printableJson(JSON.stringify(detail)));
    return;
  }
  const { id, tenant, model, status, accepted_at, attempts, error_code } = detail.row;
  const rows: [string, string][] = [
    ['id', id],
    ['request', detail.request_id ?? '-'],
    ['tenant', tenant],
    ['model', model],
    ['status', status],
    ['accepted', new Date(accepted_at).toISOString()],
    ['attempts', String(attempts)],
    ...(detail.retry_of === null ? [] : [['retry of', detail.retry_of] as [string, string]]),
    ...detail.retried_as.map((other): [string, string] => ['retried', other]),
    ...(error_code === null ? [] : [['error', error_code] as [string, string]]),
  ];
  for (const [name, value] of rows) console.log(`${name.padEnd(8)} ${printableLine(value)}`);
}
