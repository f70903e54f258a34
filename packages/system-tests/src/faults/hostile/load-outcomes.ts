import type { Kind, LoadSteps } from './hostile-loads.ts';

/** What steps came to, and how often. */
export type LoadResult = Map<string, number>;

/** All that the steps of a mechanism came to, of both kinds. */
export interface LoadOutcomes {
  mechanism: string;
  came: Record<Kind, LoadResult>;
}

/** Adds what some steps of a load came to. Returns a violation for each outcome that the load does not expect, or if there was no step. */
export function takeOutcomes(
  { mechanism, came }: LoadOutcomes,
  { loads }: { loads: Record<Kind, Pick<LoadSteps, 'comesTo'>> },
  kind: Kind,
  result: LoadResult,
): string[] {
  for (const [outcome, times] of result) came[kind].set(outcome, (came[kind].get(outcome) ?? 0) + times);
  if (result.size === 0) return [`${mechanism}, ${kind}: no step of the load was over`];
  return [...result]
    .filter(([outcome]) => !loads[kind].comesTo.includes(outcome))
    .map(([outcome, times]) => `${mechanism}, ${kind}: ${times} steps of the load came to: ${outcome}`);
}
