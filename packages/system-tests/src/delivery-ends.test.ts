import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DeliverySite, startDeliverySite } from './delivery-site.ts';
import {
  measureCancels,
  measureDepartures,
  measureKilledApi,
  measureQueuedDepartures,
} from './measure-ends.ts';
import { measureRaces } from './measure-races.ts';
import { windows } from './running-response.ts';
import { percentile } from './statistics.ts';

let site: DeliverySite;

beforeAll(async () => {
  site = await startDeliverySite();
});
afterAll(async () => {
  await site?.[Symbol.asyncDispose]();
});

const tries = 50;

describe.each(windows)('%s', (window) => {
  it('a cancel by the other api closes the upstream connection within half a second', async () => {
    expect(percentile(await measureCancels(site, window, tries), 0.99)).toBeLessThan(500);
  });

  it('a caller who leaves closes the upstream connection within a second', async () => {
    expect(percentile(await measureDepartures(site, window, tries), 0.99)).toBeLessThan(1_000);
  });
});

it.each([
  { what: 'a caller who leaves', how: 'leave' },
  { what: 'a cancel', how: 'cancel' },
] as const)(
  '$what ends a queued response within a second, and the upstream is never called',
  async ({ how }) => {
    const { times, upstreamCalls } = await measureQueuedDepartures(site, tries, how);
    expect(upstreamCalls).toBe(0);
    expect(percentile(times, 0.99)).toBeLessThan(1_000);
  },
);

it('a cancel that races a completion has one winner, and every door tells the same', async () => {
  const result = await measureRaces(site, 120, Date.now());
  expect(result).toMatchObject({ disagreements: 0, first: undefined });
  // Each of the two must win sometimes. Otherwise there was no race.
  expect(Math.min(result.completed, result.cancelled)).toBeGreaterThan(0);
});

it('the death of an api closes the upstream connections of its callers within ten seconds', async () => {
  const { times, queued } = await measureKilledApi(site, 3);
  expect(Math.max(...times)).toBeLessThan(10_000);
  // Queued responses wait for two rounds of the rescue, and no upstream is called for them.
  expect(queued.upstreamCalls).toBe(0);
  expect(Math.max(...queued.times)).toBeLessThan(20_000);
});
