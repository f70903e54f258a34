import type { Redis } from 'ioredis';
import { deferredMs } from './outcome.ts';

/** How far the clock of a machine may be from that of the store before a job counts as mistimed, in milliseconds. */
const clockErrorMs = 5_000;

/** BullMQ orders the jobs of one millisecond by a part of the score. */
const scoresPerMs = 4_096;

/** A job that waits for a time which is over, or which lies further ahead than it was ever to wait. */
export interface Mistimed {
  /** The time for which it waits, in milliseconds by the clock of the process that gave it back. */
  dueAt: number;
  /** How long it was to wait, in milliseconds. */
  delayMs: number;
}

/**
 * Reads whether a job waits for a wrong time. BullMQ sets the time by the clock of the process that gives a job back, and compares it with
 * the clock of each that takes jobs. If one of them is wrong, the job waits for as long as it is wrong.
 *
 * A deferred job waits for its tenant and not for a time. `keyOf` gives BullMQ's names of the keys of the queue.
 */
export async function readMistimed(
  redis: Redis,
  keyOf: (name: string) => string,
  { responseId, now }: { responseId: string; now: number },
): Promise<Mistimed | undefined> {
  const score = await redis.zscore(keyOf('delayed'), responseId);
  if (score === null) return undefined;
  const delayMs = Number(await redis.hget(keyOf(responseId), 'delay'));
  const dueAt = Math.floor(Number(score) / scoresPerMs);
  const isInTime = dueAt >= now - clockErrorMs && dueAt <= now + delayMs + clockErrorMs;
  // BullMQ counts from a moment after that in which the job was given back.
  const isDeferred = delayMs >= deferredMs - clockErrorMs;
  return isInTime || isDeferred ? undefined : { dueAt, delayMs };
}
