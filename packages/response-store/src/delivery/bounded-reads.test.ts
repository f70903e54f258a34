import { latch } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { BoundedReads } from './bounded-reads.ts';

describe('bounded reads', () => {
  it('are four at a time, in the order in which they were asked for', async () => {
    const reads = new BoundedReads();
    const begun: number[] = [];
    const latches = Array.from({ length: 10 }, () => latch());
    const all = latches.map((each, at) =>
      reads.run(async () => {
        begun.push(at);
        await each.wait();
        return at;
      }),
    );
    expect(begun).toEqual([0, 1, 2, 3]);
    latches[2]?.open();
    expect(await all[2]).toBe(2);
    await Promise.resolve();
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    for (const each of latches) each.open();
    expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('go on after one that fails', async () => {
    const reads = new BoundedReads();
    const failing = Array.from({ length: 8 }, () => reads.run(() => Promise.reject(new Error('down'))));
    const results = await Promise.allSettled(failing);
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    expect(await reads.run(() => Promise.resolve('up'))).toBe('up');
  });
});
