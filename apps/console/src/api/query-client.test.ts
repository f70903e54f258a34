import { afterEach, expect, it, vi } from 'vitest';
import { createQueryClient, recentQuery } from './query-client.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it('a recent query counts back from the moment of each reading, and keeps its place in the cache', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
  vi.stubGlobal('sessionStorage', { getItem: () => null });
  const fetched = vi.fn<(url: string) => Promise<Response>>(async () => Response.json({ object: 'facets' }));
  vi.stubGlobal('fetch', fetched);
  const query = () =>
    recentQuery('/responses/facets', {
      key: { since: '5m' },
      search: (nowMs) => ({ from: nowMs - 300_000 }),
    });
  const client = createQueryClient();
  await client.fetchQuery(query());
  vi.setSystemTime(9_000_000);
  await client.fetchQuery(query());
  expect(fetched.mock.calls.map(([url]) => url)).toEqual([
    '/admin/v1/responses/facets?from=700000',
    '/admin/v1/responses/facets?from=8700000',
  ]);
  expect(client.getQueryCache().getAll()).toHaveLength(1);
  client.clear();
});
