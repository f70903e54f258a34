/** Takes work from a budget; false when it is used up. */
export type Spend = (work: number) => boolean;

/**
 * Whether two JSON values are equal; the order of an object's members does not matter.
 *
 * Every pair of values costs work, and the first difference ends the comparison. Returns false when the budget is
 * used up.
 */
export function sameJson(one: unknown, other: unknown, spend: Spend): boolean {
  // A list of pairs instead of recursion: parsed JSON may be nested deeper than the stack allows.
  const pairs: [unknown, unknown][] = [[one, other]];
  for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
    const [left, right] = pair;
    if (!spend(1)) return false;
    if (typeof left === 'string' && typeof right === 'string') {
      if (left.length !== right.length || !spend(left.length / charactersCompared)) return false;
    }
    if (left === right) continue;
    if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null)
      return false;
    if (Array.isArray(left) !== Array.isArray(right)) return false;
    if (Array.isArray(left) && Array.isArray(right) && left.length !== right.length) return false;
    const members = Object.entries(left);
    const others = new Map<string, unknown>(Object.entries(right));
    if (!spend(members.length + others.size) || members.length !== others.size) return false;
    for (const [name, value] of members) {
      if (!others.has(name)) return false;
      pairs.push([value, others.get(name)]);
    }
  }
  return true;
}

/** Characters compared for one unit of work. Comparing them is far faster than making them. */
const charactersCompared = 1024;

/** Pays for a whole value: one for each part of it and for every sixteen characters. False if the budget is short. */
export function spendOn(value: unknown, spend: Spend): boolean {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (!spend(typeof next === 'string' ? 1 + next.length / 16 : 1)) return false;
    if (typeof next !== 'object' || next === null) continue;
    for (const [name, member] of Object.entries(next)) {
      if (!Array.isArray(next) && !spend(name.length / 16)) return false;
      open.push(member);
    }
  }
  return true;
}
