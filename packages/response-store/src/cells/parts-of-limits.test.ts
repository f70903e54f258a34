import { countedLimits, tenantLimits } from '@sluice/contract/tenant-limits';
import { expect, it } from 'vitest';
import { cellCountOf, partOfLimits } from './parts-of-limits.ts';

const service = { queued: 100, queuedBytes: 1_000_000 };

it.each(countedLimits)('parts of %s are never more than the limit, and nearly all of it', (name) => {
  for (const whole of [1, 3, 7, 10_000_001, 1e12]) {
    const parts = [0, 1, 2].map((at) =>
      Number(partOfLimits({ [name]: whole, service }, { [name]: whole }, { at, of: 3 })[name]),
    );
    const sum = parts.reduce((all, part) => all + part, 0);
    expect(sum).toBeLessThanOrEqual(whole);
    expect(whole - sum).toBeLessThan(tenantLimits[name].unit === 'money' ? 0.001 : 1);
  }
});

it('a key has its part of its own budget, and what a tenant has by default it has in each cell', () => {
  const limits = { queued: 10, readsPerMinute: 9, maxOutputTokens: 50, key: { tokensPerDay: 7 }, service };
  expect(partOfLimits({ ...limits, storedBytes: 5_000 }, limits, { at: 0, of: 2 })).toEqual({
    queued: 5,
    readsPerMinute: 9,
    maxOutputTokens: 50,
    storedBytes: 5_000,
    key: { tokensPerDay: 4 },
    service,
    whole: { ...limits, storedBytes: 5_000 },
  });
  expect(partOfLimits(limits, limits, { at: 0, of: 1 })).toBe(limits);
});

it('a tenant is in no more cells than there are, and than have one of what it may have', () => {
  expect(cellCountOf({}, 3)).toBe(1);
  expect(cellCountOf({ cells: 5 }, 3)).toBe(3);
  expect(cellCountOf({ cells: 3, concurrent: 2 }, 3)).toBe(2);
  expect(cellCountOf({ cells: 3, requestsPerMinute: 1 }, 3)).toBe(1);
});
