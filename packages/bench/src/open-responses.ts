import { setTimeout as pause } from 'node:timers/promises';
import type { BenchRedis } from './bench-redis.ts';
import type { BenchService } from './service.ts';

const pollMs = 10;

type Counted = Pick<BenchRedis, 'openResponses'>;

/**
 * Waits until at most so many responses wait or run, by what Redis has at that moment: the metrics of an api are a second old.
 * Returns how many do.
 */
export async function untilOpenResponses(
  redis: Counted,
  { keyPrefix }: Pick<BenchService, 'keyPrefix'>,
  { atMost, withinMs }: { atMost: number; withinMs: number },
): Promise<number> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const open = await redis.openResponses(keyPrefix);
    if (open <= atMost) return open;
    if (performance.now() > deadline)
      throw new Error(`${open} responses were still open after ${withinMs} ms`);
    await pause(pollMs);
  }
}

/** Rejects unless so many responses wait. A count that found nothing would look like an empty queue. */
export async function expectOpenResponses(
  redis: Counted,
  { keyPrefix }: Pick<BenchService, 'keyPrefix'>,
  waiting: number,
): Promise<void> {
  const open = await redis.openResponses(keyPrefix);
  if (open !== waiting) throw new Error(`${open} responses are open, and ${waiting} were accepted`);
}
