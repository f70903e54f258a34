import type { UsagePage } from '@sluice/contract';
import { getJson, type Search } from '../../api/request.ts';

/** The usage of a span of time, of all its pages: one ends early where its buckets have many groups. */
export async function readUsage(search: Search, signal: AbortSignal): Promise<UsagePage> {
  const read = (page: Search) => getJson<UsagePage>('/usage/completions', { ...search, ...page }, signal);
  let last = await read({});
  const data = [...last.data];
  while (last.next_page !== null) {
    last = await read({ page: last.next_page });
    data.push(...last.data);
  }
  return { ...last, data };
}
