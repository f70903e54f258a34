/**
 * The known name that a misspelt one most likely means: the one with the fewest changed or swapped letters, unless
 * these are too many for its length. Letter case, `-` and `_` are ignored.
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const wanted = plain(name);
  let best: { name: string; changes: number } | undefined;
  for (const candidate of known) {
    const changes = countChanges(wanted, plain(candidate));
    if (best === undefined || changes < best.changes) best = { name: candidate, changes };
  }
  if (best === undefined) return undefined;
  return best.changes <= Math.max(1, Math.floor(Math.max(wanted.length, best.name.length) / 3))
    ? best.name
    : undefined;
}

/** The end of a message about an unknown name: suggests the nearest known one, or lists all. */
export function suggestName(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  if (nearest !== undefined) return `did you mean "${nearest}"?`;
  return known.length === 0 ? 'there is none' : `known are ${known.slice(0, 30).join(', ')}`;
}

function plain(name: string): string {
  return name.slice(0, 64).toLowerCase().replace(/[-_]/g, '');
}

/** Counts letters to add, drop, replace or swap with their neighbour. */
function countChanges(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (last[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      let fewest = Math.min(replaced, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        fewest = Math.min(fewest, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(fewest);
    }
    [beforeLast, last] = [last, row];
  }
  return last[to.length] ?? 0;
}
