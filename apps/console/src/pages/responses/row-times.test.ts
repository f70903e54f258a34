import type { ResponseRow } from '@sluice/contract/admin';
import { describe, expect, it } from 'vitest';
import { isOpen, ranMs, waitedMs } from './row-times.ts';

const now = 1_000;
const row = (status: ResponseRow['status'], started_at: number | null, ended_at: number | null) => ({
  ...{ status, started_at, ended_at },
  accepted_at: 100,
});

it.each<[ResponseRow['status'], boolean]>([
  ['queued', true],
  ['in_progress', true],
  ['completed', false],
  ['incomplete', false],
  ['failed', false],
  ['cancelled', false],
])('a response that is %s is open: %s', (status, open) => {
  expect(isOpen({ status })).toBe(open);
});

describe('the times of a response', () => {
  it.each<[string, ReturnType<typeof row>, waited: number | null, ran: number | null]>([
    ['waits', row('queued', null, null), 900, null],
    ['runs', row('in_progress', 300, null), 200, 700],
    ['has ended', row('completed', 300, 800), 200, 500],
    ['ended before it began', row('cancelled', null, 400), 300, null],
    ['has ended at a time that is not known', row('failed', 300, null), 200, null],
    ['ended before it began, and nobody knows when', row('cancelled', null, null), null, null],
    ['was stamped by two clocks', row('completed', 90, 80), 0, 0],
  ])('one that %s', (_, given, waited, ran) => {
    expect([waitedMs(given, now), ranMs(given, now)]).toEqual([waited, ran]);
  });
});
