/** Divides a whole number by weights; the last ones go to the largest remainders. Without any weight it is divided evenly. The sum is always the whole. */
export function divide(whole: number, weights: readonly number[]): number[] {
  return roundToSum(exactParts(whole, weights), whole);
}

/**
 * Divides a whole number that is divided again and again. `owed`: how much more each should have had so far. So where there is less than one for
 * each, all of them have it in turn, as often as their weights say.
 *
 * @returns the parts, and what each is owed by then.
 */
export function divideInTurn(
  whole: number,
  weights: readonly number[],
  owed: readonly number[],
): { parts: number[]; owed: number[] } {
  const exact = exactParts(whole, weights).map((part, at) => part + (owed[at] ?? 0));
  const parts = roundToSum(exact, whole);
  return { parts, owed: exact.map((part, at) => part - (parts[at] ?? 0)) };
}

function exactParts(whole: number, weights: readonly number[]): number[] {
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => (all > 0 ? (whole * weight) / all : whole / weights.length));
}

/** Rounds numbers to whole ones from 0 on, with a sum that is given: the last ones go to those that lack most. */
function roundToSum(exact: readonly number[], sum: number): number[] {
  const parts = exact.map((part) => Math.max(0, Math.floor(part)));
  const lacks = (at: number) => (exact[at] ?? 0) - (parts[at] ?? 0);
  let left = sum - parts.reduce((all, part) => all + part, 0);
  while (left !== 0 && parts.length > 0) {
    const step = Math.sign(left);
    const able = [...parts.keys()].filter((at) => step > 0 || (parts[at] ?? 0) > 0);
    const [next] = able.toSorted((one, other) => step * (lacks(other) - lacks(one)) || one - other);
    if (next === undefined) break;
    parts[next] = (parts[next] ?? 0) + step;
    left -= step;
  }
  return parts;
}
