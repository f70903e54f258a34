/** The counters of responses, by their names in the admin API. */
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

/**
 * Counts by name: those of `counters`, and bins of times as `time-bins.ts` names them. They are stored as JSON, which Redis and
 * Node.js read and write faster than any format of our own.
 */
export type Sums = Record<string, number>;

export function add(sums: Sums, name: string, by: number): void {
  sums[name] = (sums[name] ?? 0) + by;
}

export function addAll(sums: Sums, others: Readonly<Sums>): void {
  for (const name of Object.keys(others)) add(sums, name, others[name] ?? 0);
}

/** Parses stored sums; undefined if the text holds none. */
export function parseSums(text: string): Sums | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Sums) : undefined; // as `add-minute.lua` writes them
  } catch {
    return undefined;
  }
}
