import { constants, PerformanceObserver } from 'node:perf_hooks';
import { latch } from '@sluice/testing';
import { expect, it } from 'vitest';
import { returnStartMemory } from './start-memory.ts';

it('collects young objects, and shows nobody else how', async () => {
  const collected = latch();
  let minor = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) {
      const { kind } = detail as { kind: number };
      if (kind === constants.NODE_PERFORMANCE_GC_MINOR) minor += 1;
    }
    if (minor >= 2) collected.open();
  });
  observer.observe({ entryTypes: ['gc'] });
  returnStartMemory();
  await collected.wait();
  observer.disconnect();
  expect(globalThis).not.toHaveProperty('gc');
});
