import { expect, it } from 'vitest';
import { limitsInEffect } from './limits-in-effect.ts';

const service = { queued: 1001, queuedBytes: 4096, redisMemoryPercent: 80 };
const own = { readsPerMinute: 60, cells: 1 };

it('gives a tenant half of what there is, and no less than one place', () => {
  expect(limitsInEffect(own, service, 1_000_000)).toEqual({
    ...{ ...own, queued: 501, queuedBytes: 2048, storedBytes: 400_000 },
  });
  expect(limitsInEffect(own, { ...service, queued: 1 }, undefined).queued).toBe(1);
});

it('leaves what its keys say as it is', () => {
  const limits = { ...own, queued: 5000, queuedBytes: 1024, storedBytes: 10_000_000, concurrent: 2 };
  expect(limitsInEffect(limits, service, 1_000_000)).toEqual(limits);
});

it('has no limit of what is stored while nobody knows how much may be', () => {
  expect(limitsInEffect(own, service, undefined)).not.toHaveProperty('storedBytes');
});
