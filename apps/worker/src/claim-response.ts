import type { Claim } from '@sluice/response-store';
import { pause, type Telemetry } from '@sluice/runtime';
import type { ResponseLog } from './response-log.ts';
import type { RunningAttempts } from './running-attempts.ts';

/** The pause between two tries of a claim that got no answer, in milliseconds. */
const retryEveryMs = 250;

export interface ClaimDependencies {
  log: Pick<ResponseLog, 'claim'>;
  running: Pick<RunningAttempts, 'interrupted' | 'releaseLater' | 'settleReleases'>;
  telemetry: Telemetry;
  /** How long the store may be silent, in milliseconds. */
  outageMs: number;
  /** For durations, in milliseconds. */
  now: () => number;
}

/**
 * Claims a response, and tries again while the store does not answer: the queue's connection may be back before the
 * store's, and a job that failed for that would wait for the rescue. The token makes repeated claims one attempt.
 *
 * Rejects with the store's error when the store stays away, or when this process stops. The lease that the claim may have
 * taken is released as soon as the store answers.
 */
export async function claimResponse(
  { log, running, telemetry, outageMs, now }: ClaimDependencies,
  responseId: string,
  token: string,
): Promise<Claim> {
  const giveUpAt = now() + outageMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      await running.settleReleases(responseId);
      return await log.claim(responseId, token);
    } catch (error) {
      if (running.interrupted.aborted || now() >= giveUpAt) {
        running.releaseLater({ id: responseId, token }, { isCounted: false });
        throw error;
      }
      if (isFirst) telemetry.emit('claim.unanswered', { responseId, error });
      await pause(retryEveryMs, running.interrupted);
    }
  }
}
