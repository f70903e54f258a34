/** What is counted of responses, by the names of the admin API. */
export const counters = [
  'accepted',
  'completed',
  'incomplete',
  'failed',
  'cancelled',
  'refused',
  'input_tokens',
  'output_tokens',
] as const;
export type Counter = (typeof counters)[number];

/** Counts by name: those of `counters`, and bins of times as `time-bins.ts` names them. */
export type Sums = Map<string, number>;

export function add(sums: Sums, name: string, by: number): void {
  sums.set(name, (sums.get(name) ?? 0) + by);
}

export function addAll(sums: Sums, others: Sums): void {
  for (const [name, by] of others) add(sums, name, by);
}

/** Sums as they are stored, which `add-minute.lua` knows as well: name and count in turn, with spaces between. */
export function printSums(sums: Sums): string {
  return [...sums].map(([name, count]) => `${name} ${count}`).join(' ');
}

/** Reads what `printSums` has written. What is no count is passed over. */
export function parseSums(text: string): Sums {
  const sums: Sums = new Map();
  const words = text.split(' ');
  for (let at = 0; at + 1 < words.length; at += 2) {
    const count = Number(words[at + 1]);
    if (Number.isSafeInteger(count)) add(sums, words[at] ?? '', count);
  }
  return sums;
}
