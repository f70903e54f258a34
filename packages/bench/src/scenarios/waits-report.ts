import { atMost, type Goal } from '../goals.ts';
import { type Point, renderPlot, type Series } from '../plot/plot.ts';
import type { Picture } from '../scenario.ts';
import { median, percentile, spread } from '../statistics.ts';
import { figure, spreadFigure, type Table } from '../table.ts';
import type { PacedModel } from '../upstream/paced-model.ts';
import { type Company, measuredReleaseMs, type Watched } from './beside-backlog.ts';

/** How many mean slot releases later something may happen. */
const mostReleases = 3;

export type Waits = ReadonlyMap<Company, readonly (readonly number[])[]>;

/** The waits of each round, by company. */
export function waitsByCompany(
  watched: ReadonlyMap<Company, readonly Watched[]>,
  waits: (round: Watched) => number[],
): Waits {
  return new Map([...watched].map(([company, rounds]) => [company, rounds.map(waits)]));
}

/** How much longer the waits are beside the backlog than alone, in mean slot releases of their round. */
export function releasesLater(
  waits: Waits,
  watched: ReadonlyMap<Company, readonly Watched[]>,
  { share, model }: { share: number; model: PacedModel },
): number[] {
  const alone = waits.get('alone') ?? [];
  const beside = waits.get('beside the backlog') ?? [];
  const rounds = watched.get('beside the backlog') ?? [];
  return beside.map((samples, at) => {
    const later = percentile(samples, share) - percentile(alone[at] ?? [], share);
    const round = rounds[at];
    return round ? later / measuredReleaseMs(round, model) : Number.NaN;
  });
}

export function laterGoal(what: string, rounds: readonly number[]): Goal {
  return { what, goal: `at most ${mostReleases}`, rounds, isMet: atMost(mostReleases) };
}

export function waitTable(title: string, waits: Waits, others: readonly string[][]): Table {
  return {
    title,
    columns: ['', 'p50 ms', 'p99 ms', 'longest ms', 'requests', 'not begun when the round was over'],
    rows: [...waits].map(([company, rounds], row) => [
      company,
      spreadFigure(spread(rounds.map((samples) => percentile(samples, 0.5)))),
      spreadFigure(spread(rounds.map((samples) => percentile(samples, 0.99)))),
      figure(median(rounds.map((samples) => Math.max(...samples)))),
      String(rounds.reduce((sum, samples) => sum + samples.length, 0)),
      ...(others[row] ?? []),
    ]),
  };
}

/** What share of the requests had waited for at most so long, over all rounds. */
export function waitPicture(file: string, title: string, waits: Waits): Picture {
  const series = [...waits].map(([company, rounds]): Series => {
    const sorted = rounds.flat().toSorted((a, b) => a - b);
    const points = sorted.map((wait, at): Point => [wait, ((at + 1) / sorted.length) * 100]);
    return { name: company, style: 'line', points };
  });
  const svg = renderPlot({ title, xLabel: 'ms', yLabel: '% of the requests', series });
  return { file, alt: title, svg };
}
