import { garbageCollector } from './garbage-collector.ts';

/** After the second one, V8 has been seen to reduce the heap within ten seconds each time. After one it was up to seventeen. */
const collections = 2;

/**
 * Has V8 return the memory that a process took to load itself.
 *
 * V8 grows its space for young objects while modules are loaded, and looks for heaps to reduce when something may be garbage. A process without work gives it no
 * reason to look, so an idle api held 145 MB and let them grow to 150. Two collections of young objects, of 7 ms together, are a reason: some eight seconds
 * later V8 reduces the heap of a process that is still idle, step by step, and it holds 124 MB. One that has work keeps what it has.
 *
 * To be called when a process has started, before it answers anybody.
 */
export function returnStartMemory(): void {
  const collect = garbageCollector();
  for (let count = 0; count < collections; count += 1) collect({ type: 'minor' });
}
