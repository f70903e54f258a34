/** Returns the next number of a sequence, from 0 inclusive to 1 exclusive. */
export type Random = () => number;

/**
 * A sequence of numbers that the seed and the purpose decide, so that a run can be repeated. Sequences for different
 * purposes are independent: a run that sends more requests has the same arrivals.
 */
export function seededRandom(seed: number, purpose: string): Random {
  let state = hash(`${seed} ${purpose}`);
  // mulberry32: 32 bits of state are enough to choose requests, and nothing here is a secret.
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value;
}
