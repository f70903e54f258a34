import { afterEach, expect, it, vi } from 'vitest';
import { readUsage } from './read-usage.ts';

afterEach(() => vi.unstubAllGlobals());

it('usage is read to its last page', async () => {
  vi.stubGlobal('sessionStorage', { getItem: () => null });
  const fetched = vi.fn<(url: string) => Promise<Response>>(async (url) => {
    const at = Number(/page=page_(\d)/.exec(url)?.[1] ?? 0);
    const next_page = at < 2 ? `page_${at + 1}` : null;
    return Response.json({ object: 'page', data: [{ start_time: at }], has_more: at < 2, next_page });
  });
  vi.stubGlobal('fetch', fetched);
  const search = { start_time: 5, group_by: ['label'] };
  const { data, next_page } = await readUsage(search, new AbortController().signal);
  expect(data.map(({ start_time }) => start_time)).toEqual([0, 1, 2]);
  expect(next_page).toBeNull();
  const asked = '/admin/v1/usage/completions?start_time=5&group_by=label';
  expect(fetched.mock.calls.map(([url]) => url)).toEqual([
    asked,
    `${asked}&page=page_1`,
    `${asked}&page=page_2`,
  ]);
});
