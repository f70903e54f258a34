import type { ClaimedRecord } from '@sluice/response-store';
import type { Telemetry } from '@sluice/runtime';
import { about } from './attempt.ts';
import type { RunningAttempts } from './running-attempts.ts';

/**
 * Leaves a claimed response to the rescue, which passes over it while this process seems to run it, or to end it. Whichever of its claims
 * stands is released. `isShown`: a reader may have seen output of it.
 */
export function dropClaim(
  { running, telemetry }: { running: Pick<RunningAttempts, 'releaseAllLater'>; telemetry: Telemetry },
  record: ClaimedRecord,
  { claims, isShown }: { claims: readonly string[]; isShown: boolean },
): void {
  running.releaseAllLater(record.id, { claims, isShown });
  telemetry.emit('attempt.dropped', about(record));
}
