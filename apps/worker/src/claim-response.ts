import type { Claim } from '@sluice/response-store';
import { pause, type Telemetry } from '@sluice/runtime';
import type { ResponseLog } from './response-log.ts';

/** Between two tries of a claim that got no answer, and how many there are, unless the lock is lost first. */
const retryEveryMs = 250;
const mostTries = 24;

/**
 * Claims a response, and tries again while the store gives no answer: the queue's connection may be back before the
 * store's, and a job that fails for it would wait for the rescue. The token makes a repeated claim one attempt.
 *
 * Rejects with the store's error when it stays away, or when the job's lock is lost.
 */
export async function claimResponse(
  { log, telemetry }: { log: Pick<ResponseLog, 'claim'>; telemetry: Telemetry },
  responseId: string,
  token: string,
  lockLost: AbortSignal,
): Promise<Claim> {
  for (let tries = 1; ; tries++) {
    try {
      return await log.claim(responseId, token);
    } catch (error) {
      if (lockLost.aborted || tries === mostTries) throw error;
      if (tries === 1) telemetry.emit('claim.unanswered', { responseId, error });
      await pause(retryEveryMs, lockLost);
    }
  }
}
