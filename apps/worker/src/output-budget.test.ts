import { within } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { budgetOfHeap, OutputBudget, type OutputShare } from './output-budget.ts';

const step = 10;
const free = 5;

/** A budget, and answers that grow by a step as often as they may. */
function setUp(bytes: number) {
  const budget = new OutputBudget({ bytes, freeBytes: free });
  const open = (tenant: string) => budget.open(tenant);
  /** Grows until it may not; returns the bytes that it holds then. */
  const fill = (share: OutputShare, most = Number.POSITIVE_INFINITY): number => {
    while (share.mayGrow && share.held < most) share.output = share.held + step;
    return share.held;
  };
  return { budget, open, fill };
}

const never = new AbortController().signal;

describe('the budget of answers under way', () => {
  it('gives one tenant half, and the next one room of its own', () => {
    const { budget, open, fill } = setUp(10_000);
    const hostile = Array.from({ length: 32 }, () => open('hostile'));
    // The oldest is slow, or it would go on to its end.
    for (const share of hostile) fill(share, 400);
    expect(budget.held).toBeLessThanOrEqual(5_000 + 32 * step);
    expect(hostile.slice(1).some(({ mayGrow }) => mayGrow)).toBe(false);
    const quiet = [open('quiet'), open('quiet')];
    for (const share of quiet) expect(fill(share, 400)).toBe(400);
    expect(budget.held).toBeLessThan(10_000);
  });

  it('lets every small answer go on, however full it is', () => {
    const { open, fill } = setUp(100);
    const large = [open('hostile'), open('hostile')];
    fill(large[0] as OutputShare, 400);
    const small = open('quiet');
    small.output = free;
    expect(small.mayGrow).toBe(true);
    small.output = free + 1;
    expect(small.mayGrow).toBe(false);
  });

  it('always lets one answer grow, and no second one beyond it', () => {
    const { budget, open, fill } = setUp(300);
    const shares = Array.from({ length: 40 }, (_, at) => open(`tenant ${at % 7}`));
    const whole = 500;
    let mostHeld = 0;
    let ended = 0;
    while (ended < shares.length) {
      const growing = shares.filter((share) => share.held < whole && share.mayGrow);
      expect(growing.length).toBeGreaterThan(0);
      for (const share of growing) {
        if (share.mayGrow) share.output = Math.min(share.held + step, whole);
        mostHeld = Math.max(mostHeld, budget.held);
      }
      for (const share of shares) {
        if (share.held < whole) continue;
        share.close();
        shares.splice(shares.indexOf(share), 1, open('next'));
        ended += 1;
      }
    }
    // The budget, the one that exceeds it, and a step of each other.
    expect(mostHeld).toBeLessThanOrEqual(300 + whole + 40 * step);
    expect(fill(open('any'), 100)).toBeGreaterThan(0);
  });

  it('lets the oldest answer of a tenant go on as long as anything is free', () => {
    const { open, fill } = setUp(1_000);
    const elsewhere = open('other');
    fill(elsewhere, 300);
    const [oldest, second] = [open('tenant'), open('tenant')];
    fill(oldest, 200);
    fill(second);
    expect(second.mayGrow).toBe(false);
    expect(oldest.mayGrow).toBe(true);
    expect(fill(oldest)).toBeGreaterThan(200);
  });

  it('wakes those that wait when another gives back', async () => {
    const { budget, open, fill } = setUp(100);
    const [first, second] = [open('a'), open('b')];
    fill(first, 200);
    fill(second, 20);
    let hasRoom = false;
    const room = second.room(never).then(() => (hasRoom = true));
    await Promise.resolve();
    expect([hasRoom, budget.waiting]).toEqual([false, 1]);
    first.close();
    await within(room);
    expect([budget.waiting, budget.held]).toEqual([0, second.held]);
  });

  it('counts what was read ahead, and wakes those that wait when it shrinks', async () => {
    const { open } = setUp(100);
    const [first, second] = [open('a'), open('b')];
    first.readAhead = 200;
    second.readAhead = 20;
    const room = second.room(never);
    expect(second.mayGrow).toBe(false);
    first.readAhead = 0;
    await within(room);
  });

  it('stops the wait of an attempt that ends', async () => {
    const { budget, open, fill } = setUp(100);
    fill(open('a'), 200);
    const waits = open('b');
    fill(waits, 20);
    const attempt = new AbortController();
    const room = waits.room(attempt.signal);
    attempt.abort();
    await within(room);
    await within(waits.room(attempt.signal));
    expect(budget.waiting).toBe(0);
  });

  it('is empty when all are closed, also twice', () => {
    const { budget, open, fill } = setUp(100);
    const shares = [open('a'), open('b'), open('a')];
    for (const share of shares) fill(share, 30);
    for (const share of [...shares, ...shares]) share.close();
    expect([budget.held, budget.waiting]).toEqual([0, 0]);
  });

  it('is a part of the heap', () => {
    const ownBytes = 256 * 1024 * 1024;
    expect(budgetOfHeap(800_000_000 + ownBytes).bytes).toBe(400_000_000);
    expect(budgetOfHeap(ownBytes / 2).bytes).toBe(0);
  });
});
