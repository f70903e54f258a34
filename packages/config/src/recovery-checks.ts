import type { Explanation } from './explain-issue.ts';
import { breakerDefaults, recoveryDefaults } from './recovery-schema.ts';

interface RecoveryOutline {
  lockMs?: number | undefined;
  stalledMs?: number | undefined;
  breaker?: { openMs?: number | undefined; longestOpenMs?: number | undefined } | undefined;
}

/** Checks that durations of recovery fit each other. */
export function checkRecovery(recovery: RecoveryOutline): Explanation[] {
  const { lockMs = recoveryDefaults.lockMs, stalledMs = recoveryDefaults.stalledMs } = recovery;
  const { openMs = breakerDefaults.openMs, longestOpenMs = breakerDefaults.longestOpenMs } =
    recovery.breaker ?? {};
  const found: Explanation[] = [];
  if (stalledMs > lockMs) {
    const message = 'is longer than `lockMs`; make it shorter, about a third';
    found.push({ path: ['recovery', 'stalledMs'], message });
  }
  if (openMs > longestOpenMs) {
    const message = 'is longer than `longestOpenMs`; make one of them fit the other';
    found.push({ path: ['recovery', 'breaker', 'openMs'], message });
  }
  return found;
}
