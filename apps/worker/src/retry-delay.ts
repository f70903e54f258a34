/** The first and the longest pause when the upstream asks for none, in milliseconds. */
const pauseMs = { first: 250, longest: 10_000 };

/** Jitter on top of a wait that an upstream asked for: up to this share of it, and no more than this. */
const jitter = { share: 0.25, longestMs: 5_000 };

/** A bound that doubles with each try, from the first pause up to the longest, in milliseconds. */
export function backoffMs(tries: number): number {
  return Math.min(pauseMs.first * 2 ** tries, pauseMs.longest);
}

/** Adds jitter to a wait, so that responses that wait together do not come back together. Never shortens it. */
export function withJitter(waitMs: number, random: () => number): number {
  return waitMs + random() * Math.min(waitMs * jitter.share, jitter.longestMs);
}

export interface RetryDelayOptions {
  /** The wait that the upstream asked for, if it did. */
  retryAfterMs: number | undefined;
  /** The longest wait that an upstream may ask for, before jitter. */
  longestRetryAfterMs: number;
  random: () => number;
}

/**
 * How long to wait before another attempt at the same upstream: the time that it asked for, up to a cap and with jitter on
 * top, or a random time below a bound that doubles ("full jitter").
 */
export function retryDelayMs(
  attempt: number,
  { retryAfterMs, longestRetryAfterMs, random }: RetryDelayOptions,
): number {
  if (retryAfterMs !== undefined) return withJitter(Math.min(retryAfterMs, longestRetryAfterMs), random);
  return random() * backoffMs(attempt);
}
