import type { HeldAttempt, ReleaseOptions } from '@sluice/response-store';
import type { ResponseLog } from './response-log.ts';
import type { RunningAttempts } from './running-attempts.ts';

export interface GiveBackDependencies {
  log: Pick<ResponseLog, 'release'>;
  running: Pick<RunningAttempts, 'releaseLater'>;
}

/**
 * Gives a response back unfinished: now, or as soon as the store answers. Its next claim in this process waits for that, so
 * an outage does not change which attempts count.
 *
 * @throws {TypeError} for a defect of ours, which another try would meet again.
 */
export async function giveBack(
  { log, running }: GiveBackDependencies,
  held: HeldAttempt,
  options: ReleaseOptions,
): Promise<void> {
  try {
    await log.release(held, options);
  } catch (error) {
    if (error instanceof TypeError) throw error;
    running.releaseLater(held, options);
  }
}
