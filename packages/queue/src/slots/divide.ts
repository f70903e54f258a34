/**
 * Divides a whole number by weights, with at least so many for each where there are enough: what is left after the least goes in proportion, and
 * the last ones to the largest remainders. Without any weight it is divided evenly. The sum is always the whole.
 */
export function divide(whole: number, weights: readonly number[], least = 0): number[] {
  const base = Math.min(least, Math.floor(whole / weights.length));
  const rest = whole - base * weights.length;
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  const exact = weights.map((weight) => (all > 0 ? (rest * weight) / all : rest / weights.length));
  const parts = exact.map((part) => base + Math.floor(part));
  let left = whole - parts.reduce((sum, part) => sum + part, 0);
  const byRemainder = [...exact.keys()].toSorted(
    (one, other) => ((exact[other] ?? 0) % 1) - ((exact[one] ?? 0) % 1) || one - other,
  );
  for (const at of byRemainder) {
    if (left === 0) break;
    parts[at] = (parts[at] ?? 0) + 1;
    left -= 1;
  }
  return parts;
}
