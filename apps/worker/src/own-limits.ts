import type { LimitedBefore } from '@sluice/response-store';

/** Most times that a response may be limited while others are answered, even if some of those are limited, too. */
export const mostOwnLimits = 10;

/**
 * Counts how often a response was limited while others were answered. The record keeps the count from one process to the
 * next.
 */
export class OwnLimits {
  count = 0;
  /** When it was limited last, by the clock for durations, in milliseconds. */
  at = Number.NEGATIVE_INFINITY;

  /** Takes over the count of the record. `agoOf` tells how long ago a time of the store's clock is. */
  take(before: LimitedBefore | undefined, now: number, agoOf: (at: number) => number): void {
    if (!before || before.count <= this.count) return;
    this.count = before.count;
    this.at = now - Math.max(0, agoOf(before.at));
  }
}
