import { type Counter, counters, type Sums } from './sums.ts';
import { quantileOf, type TimeKind } from './time-bins.ts';

const times = { first_token: 'firstToken', wait: 'wait', run: 'run' } as const satisfies Record<
  string,
  TimeKind
>;

/** Counts and durations: to the first output of a stream, in the queue, and from start to end. */
export type Figures = Record<Counter, number> &
  Record<`${keyof typeof times}_${'p50' | 'p99'}_ms`, number | null>;

export function figuresOf(sums: Readonly<Sums>): Figures {
  const counted = Object.fromEntries(counters.map((name) => [name, sums[name] ?? 0]));
  const took = Object.entries(times).flatMap(([name, kind]) => [
    [`${name}_p50_ms`, rounded(quantileOf(sums, 0.5, kind))],
    [`${name}_p99_ms`, rounded(quantileOf(sums, 0.99, kind))],
  ]);
  return { ...counted, ...Object.fromEntries(took) } as Figures; // each counter and each time has its member
}

function rounded(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms * 10) / 10;
}

export const noFigures = figuresOf({});
