/** First and longest pause between two attempts at one upstream, in milliseconds. */
const pauseMs = { first: 250, longest: 10_000 };

/**
 * How long to wait before another attempt at the same upstream: what it asked for, up to a cap, or a random
 * time below a bound that doubles ("full jitter"), so that many failures at once do not come back at once.
 */
export function retryDelayMs(
  attempt: number,
  retryAfterMs: number | undefined,
  random = Math.random,
): number {
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, pauseMs.longest);
  return random() * Math.min(pauseMs.first * 2 ** attempt, pauseMs.longest);
}
