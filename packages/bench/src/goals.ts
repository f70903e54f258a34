import { spread } from './statistics.ts';
import { spreadFigure, type Table } from './table.ts';

/** A figure that should be within a bound. */
export interface Goal {
  what: string;
  /** The bound in words, with its unit. */
  goal: string;
  /** The figure of each round. NaN for one that could not be measured, which meets no goal. */
  rounds: readonly number[];
  isMet: (median: number) => boolean;
}

/** A goal is met if the median of its rounds is within the bound. */
export function goalTable(goals: readonly Goal[]): Table {
  return {
    title: 'Goals',
    columns: ['', 'goal', 'measured', 'holds'],
    rows: goals.map(({ what, goal, rounds, isMet }) => {
      const measured = spread(rounds);
      const holds = Number.isFinite(measured.median) && isMet(measured.median);
      return [what, goal, spreadFigure(measured), holds ? 'yes' : '**no**'];
    }),
  };
}

export function atMost(bound: number): (median: number) => boolean {
  return (median) => median <= bound;
}

export function atLeast(bound: number): (median: number) => boolean {
  return (median) => median >= bound;
}
