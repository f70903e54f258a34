import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { runInNewContext } from 'node:vm';
import { latch } from '@sluice/testing';
import { expect, it } from 'vitest';
import { returnStartMemory } from './start-memory.ts';

it('collects young objects, and shows nobody else how', async () => {
  const collected = latch();
  let forced = 0;
  const observer = new PerformanceObserver((list) => {
    forced += list.getEntries().filter(isForced).length;
    if (forced === 2) collected.open();
  });
  observer.observe({ entryTypes: ['gc'] });
  returnStartMemory();
  await collected.wait();
  observer.disconnect();
  expect(globalThis).not.toHaveProperty('gc');
  // Another thread may be about to look for it.
  expect(runInNewContext('typeof gc')).toBe('function');
});

/** Whether somebody asked for a collection of young objects. */
function isForced(entry: PerformanceEntry): boolean {
  // TypeScript has no type of what Node says of a collection.
  const { detail } = entry as PerformanceEntry & { detail?: { kind?: number; flags?: number } };
  return (
    detail?.kind === constants.NODE_PERFORMANCE_GC_MINOR &&
    detail.flags === constants.NODE_PERFORMANCE_GC_FLAGS_FORCED
  );
}
