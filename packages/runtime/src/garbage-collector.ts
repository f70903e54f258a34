import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects the whole heap at once, or young objects alone. The heap is that of the thread that calls it. */
export type CollectGarbage = (options?: { type: 'minor' }) => void;

/**
 * The collector that V8 shows to a process with a flag. The flag is that of all threads and stays: one that took it back could do so between
 * these two lines of another one, which would find no collector.
 */
export function garbageCollector(): CollectGarbage {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as CollectGarbage; // as the flag puts it into new contexts
}
