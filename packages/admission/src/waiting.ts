/** A weight is `responses * perResponse + KiB`, so that one counter holds number and size. */
const perResponse = 2 ** 32;

const bytesPerUnit = 1024;

/** Waiting responses and their size in bytes, each rounded up to whole KiB. */
export interface Waiting {
  responses: number;
  bytes: number;
}

/**
 * The weight that one waiting response adds to the counters. Number and size share one integer, because a counter is one
 * command and each command of the accept counts. The doubles of Lua hold integers up to 2^53: that is two million
 * responses, and the settings allow no more. They allow 1 TiB, so a size of 2 TiB and above is known to be borrowed; see
 * enter.lua.
 */
export function weightOf(bytes: number): number {
  return perResponse + Math.ceil(bytes / bytesPerUnit);
}

/** Kibibytes of a bound in bytes, as the scripts compare it. */
export function boundInUnits(bytes: number): number {
  return Math.floor(bytes / bytesPerUnit);
}

/** Reads a counter; absent means that nothing waits. */
export function parseWeight(counter: string | null | undefined): Waiting {
  const weight = Number(counter ?? 0);
  const units = weight % perResponse;
  // A size that is borrowed counts as none, as it does for the bounds.
  return {
    responses: Math.floor(weight / perResponse),
    bytes: units >= perResponse / 2 ? 0 : units * bytesPerUnit,
  };
}
