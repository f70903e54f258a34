import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

/** How many jobs at the front of each list of a queue are looked at for the oldest one. */
const lookedAt = 50;

const script = readFileSync(new URL('../src/queue-depth.lua', import.meta.url), 'utf8');

/** What there is in a queue. */
export interface QueueDepth {
  /** Jobs that wait: for a worker, for a time, or outside for a place of their tenant. */
  waiting: number;
  active: number;
  isPaused: boolean;
  /**
   * The job that has waited longest, as far as the first fifty of each list tell, and when it was added by the clock of who
   * added it, in milliseconds; undefined when none waits.
   */
  oldest: WaitingJob | undefined;
  /** The same of those that a worker could take: they neither wait for a time nor outside. */
  oldestReady: WaitingJob | undefined;
}

export interface WaitingJob {
  responseId: string;
  addedAt: number;
}

/** `keyOf` gives the names that BullMQ has for the keys of the queue. */
export async function readDepth(redis: Redis, keyOf: (name: string) => string): Promise<QueueDepth> {
  const keys = ['wait', 'prioritized', 'delayed', 'active', 'meta'].map(keyOf);
  const reply = await redis.eval(script, keys.length, ...keys, keyOf(''), lookedAt);
  // As the script says.
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
