import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** How much a heap may grow between two collections, in bytes, with the buffers outside of it. */
const room = 64 * 1024 * 1024;

/** The growth of a heap of more bytes is left to V8: so much is a small part of it. */
const mostBytes = 2 * room;

/**
 * Has V8 collect a small heap when it has grown by 64 MB, and not by 8 MB.
 *
 * V8 lets a heap grow by a share of its size that is the smaller the less a process computes, by 8 MB at least, and counts the buffers outside of it. A
 * process of this service has a heap of 30 MB, so each body of some megabytes had all of it marked twice, which was half of what an api computed for a
 * large input. A heap keeps some 20 MB more under such a load.
 *
 * The flag is that of the process, so it holds for its threads as well. It is read whenever V8 plans the next collection, and set after each of them.
 */
export function keepHeapRoom(): void {
  setGrowth();
  const observer = new PerformanceObserver((list) => {
    if (list.getEntries().some(isMajor)) setGrowth();
  });
  observer.observe({ entryTypes: ['gc'] });
}

function setGrowth(): void {
  const percent = growthPercent(getHeapStatistics().used_heap_size);
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

/** By how many percent a heap of so many bytes may grow; 0 for what V8 thinks right. */
export function growthPercent(bytes: number): number {
  return bytes > mostBytes ? 0 : Math.round((100 * room) / Math.max(bytes, 1));
}

/** Whether a collection was one of the whole heap. */
function isMajor(entry: PerformanceEntry): boolean {
  // TypeScript has no type of what Node says of a collection.
  const { detail } = entry as PerformanceEntry & { detail?: { kind?: number } };
  return detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
