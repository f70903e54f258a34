import type { Random } from './random.ts';

export type Arrivals = 'poisson' | 'constant';

export interface ArrivalOptions {
  kind: Arrivals;
  /** Requests per second. */
  rate: number;
  random: Random;
}

/**
 * When the requests of an open loop are due, in milliseconds from the start, without end. `poisson` has random gaps, as
 * independent callers have; `constant` has equal ones. Nothing that the endpoint does moves an arrival.
 */
export function* arrivalTimes({ kind, rate, random }: ArrivalOptions): Generator<number, never> {
  const gapMs = 1000 / rate;
  let at = 0;
  for (let count = 0; ; count++) {
    // Products, because a sum of gaps would drift from the rate.
    if (kind === 'constant') yield count * gapMs;
    else {
      at += -Math.log(1 - random()) * gapMs;
      yield at;
    }
  }
}
