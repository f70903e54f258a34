import type { KeyPageQuery } from '@sluice/contract/admin';
import type { KnownKeys, StoredKey } from '@sluice/tenants';
import { expect, it } from 'vitest';
import { keyRows } from './key-rows.ts';

const now = Date.parse('2026-06-01T00:00:00Z');

/** A stored key; every second one is revoked. */
function storedKey(at: number): StoredKey {
  return {
    id: `key_${at}`,
    hash: `sha256:${at}`,
    last4: 'abcd',
    name: `team-${at % 10}`,
    models: ['*'],
    tiers: ['default'],
    limits: {},
    createdAt: '2026-01-01T00:00:00.000Z',
    ...(at % 2 === 1 && { revokedAt: '2026-02-01T00:00:00.000Z' }),
  };
}

function rows(count: number, query: Partial<KeyPageQuery>) {
  const stored = Array.from({ length: count }, (_, at) => storedKey(at));
  const known: KnownKeys = { file: [], stored, revokedAt: ({ revokedAt }) => revokedAt };
  return keyRows({ keys: { known }, now: () => now }, { offset: 0, limit: 100, ...query });
}

it('lets others of the process have their turn while it looks through many keys', async () => {
  let isOver = false;
  const page = rows(20_000, { q: 'nobody' }).finally(() => {
    isOver = true;
  });
  let turns = 0;
  const take = () => {
    if (isOver) return;
    turns += 1;
    setImmediate(take);
  };
  setImmediate(take);
  expect(await page).toEqual({ object: 'list', data: [], has_more: false });
  expect(turns).toBeGreaterThanOrEqual(9);
});

it('gives every key once over its pages, those in effect first and the newest of each before', async () => {
  const seen: (string | null)[] = [];
  for (let offset = 0; ; offset += 3) {
    const { data, has_more: hasMore } = await rows(10, { offset, limit: 3 });
    seen.push(...data.map(({ id }) => id));
    if (!hasMore) break;
  }
  const keys = [8, 6, 4, 2, 0, 9, 7, 5, 3, 1].map((at) => `key_${at}`);
  expect(seen).toEqual(keys);
});
