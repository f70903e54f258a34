import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

/** How many jobs at the front of each list are considered for the oldest. */
const lookedAt = 50;

const script = readFileSync(new URL('../src/queue-depth.lua', import.meta.url), 'utf8');

/** The jobs in a queue. */
export interface QueueDepth {
  /** Jobs that wait for a worker or for a time, or that are deferred. */
  waiting: number;
  active: number;
  isPaused: boolean;
  /**
   * The job among the first fifty of each list that has waited longest, and when it was added, in milliseconds by the clock of
   * the process that added it; undefined when none waits.
   */
  oldest: WaitingJob | undefined;
  /** The same among jobs that a worker could take now: they neither wait for a time nor are deferred. */
  oldestReady: WaitingJob | undefined;
}

export interface WaitingJob {
  responseId: string;
  addedAt: number;
}

/** `keyOf` gives BullMQ's names of the keys of the queue. */
export async function readDepth(redis: Redis, keyOf: (name: string) => string): Promise<QueueDepth> {
  const keys = ['wait', 'prioritized', 'delayed', 'active', 'meta'].map(keyOf);
  const reply = await redis.eval(script, keys.length, ...keys, keyOf(''), lookedAt);
  // The script returns this.
  const [waiting, active, paused, ...jobs] = reply as [
    number,
    number,
    number,
    string,
    string,
    string,
    string,
  ];
  const [oldestId, oldestAt, readyId, readyAt] = jobs;
  return {
    waiting,
    active,
    isPaused: paused === 1,
    oldest: jobOf(oldestId, oldestAt),
    oldestReady: jobOf(readyId, readyAt),
  };
}

function jobOf(responseId: string, addedAt: string): WaitingJob | undefined {
  return responseId === '' ? undefined : { responseId, addedAt: Number(addedAt) };
}
