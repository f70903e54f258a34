import { DelayedError, UnrecoverableError, WaitingError } from 'bullmq';
import type { FailureCode } from '@sluice/contract';

/** How an attempt ended, as the queue needs to know it. Status and output are in the record already. */
export type Outcome =
  /** The response has ended, or there was nothing to run. */
  | { kind: 'settled' }
  /** The response failed; the dashboard shows the code. */
  | { kind: 'failed'; code: FailureCode }
  /** The process stops: the job goes back to the front of the queue, for another worker. */
  | { kind: 'given_back' }
  /** This worker cannot run it now: the job comes back after a while, with another priority if one is given. */
  | { kind: 'later'; afterMs: number; priority?: number }
  /** Its tenant runs as many as it may: the job waits outside its queue until `letIn`. */
  | { kind: 'deferred' };

/**
 * A deferred job that nobody lets in comes back to its queue after this long, in milliseconds, and its claim decides. Only a
 * job that was forgotten waits for so long.
 */
export const deferredMs = 600_000;

/** The part of a BullMQ job that moves it. */
export interface MovableJob {
  moveToWait(token?: string): Promise<unknown>;
  moveToDelayed(timestamp: number, token?: string): Promise<void>;
  changePriority(options: { priority: number }): Promise<void>;
}

/**
 * Turns an outcome into BullMQ's protocol of returning and throwing. Nothing is ever returned, so no answer
 * reaches `returnvalue` or BullMQ's event stream, and an error's message is its code.
 */
export async function settle(outcome: Outcome, job: MovableJob, token: string | undefined): Promise<void> {
  switch (outcome.kind) {
    case 'settled':
      return;
    case 'failed': {
      const error = new UnrecoverableError(outcome.code);
      delete error.stack;
      throw error;
    }
    case 'given_back':
      await job.moveToWait(token);
      throw new WaitingError();
    case 'later':
      if (outcome.priority !== undefined) await job.changePriority({ priority: outcome.priority });
      await job.moveToDelayed(Date.now() + outcome.afterMs, token);
      throw new DelayedError();
    case 'deferred':
      await job.moveToDelayed(Date.now() + deferredMs, token);
      throw new DelayedError();
  }
}
