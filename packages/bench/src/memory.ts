import { readFileSync } from 'node:fs';
import type { Child } from './child-process.ts';

/** Memory of a process that is in RAM. NaN where there is no `/proc`. */
export function residentBytes({ pid }: Pick<Child, 'pid'>): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
  } catch {
    return Number.NaN;
  }
}
