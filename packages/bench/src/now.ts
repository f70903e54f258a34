/** Milliseconds since the epoch with fractions, so that times of several processes of this machine can be compared. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
