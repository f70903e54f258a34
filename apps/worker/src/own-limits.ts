import type { LimitedBefore } from '@sluice/response-store';

/** A response is limited so often at most while others are answered, whether or not some of those are limited as well. */
export const mostOwnLimits = 10;

/**
 * How often a response was limited, but for the times when nobody else was answered either. It outlives the process in its
 * record.
 */
export class OwnLimits {
  count = 0;
  /** When it was limited last, by the clock for durations, in milliseconds. */
  at = Number.NEGATIVE_INFINITY;

  /** Takes over what the record says. `agoOf` tells how long ago a time of the store's clock is. */
  take(before: LimitedBefore | undefined, now: number, agoOf: (at: number) => number): void {
    if (!before || before.count <= this.count) return;
    this.count = before.count;
    this.at = now - Math.max(0, agoOf(before.at));
  }
}
