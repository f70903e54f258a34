import { readFile, writeFile } from 'node:fs/promises';
import { cpuOf } from './cpu-times.ts';
import { describeMachine } from './machine.ts';
import type { Measurement } from './measure.ts';
import { ratios } from './rounds.ts';
import { median, spread } from './statistics.ts';
import { figure, spreadFigure, type Table } from './table.ts';

/** CPU time of api, worker and Redis, as a multiple of what the bare job takes for the same. */
export interface Cost {
  /** The work that it is for. */
  what: string;
  /** The ratio of each round. */
  rounds: readonly number[];
}

/** The costs of the last release: the median of the rounds, by the work. */
export interface NotedCosts {
  release: string;
  costs: Record<string, number>;
}

/** A cost and the scenario that measures it. */
export interface MeasuredCost extends Cost {
  scenario: string;
}

/** How much more a cost may be than that of the last release. */
const mostRise = 0.05;

/** How often a cost is measured before it counts. One look on a busy machine differs from the next by more than what may rise. */
const looks = 3;

const file = new URL('../costs.json', import.meta.url);

const roles = ['api', 'worker', 'redis'];

export function costToBareJob(
  what: string,
  { sluice, bareJob }: { sluice: readonly Measurement[]; bareJob: readonly Measurement[] },
  worksOf: (round: Measurement) => number,
): Cost {
  return { what, rounds: ratios(sluice, bareJob, (round) => cpuOf(round, roles) / worksOf(round)) };
}

/** A sentence on the costs that have risen too much, or undefined. Work that the last release did not note is not held. */
export function risenCosts(costs: readonly Cost[], noted: NotedCosts): string | undefined {
  const risen = costs.flatMap(({ what, rounds }) => {
    const before = noted.costs[what];
    const now = median(rounds);
    if (before === undefined || now <= before * (1 + mostRise)) return [];
    return [`${figure(now)} instead of ${figure(before)} times that of the bare job for ${what}`];
  });
  if (risen.length === 0) return undefined;
  return `The CPU time has risen by more than ${mostRise * 100} % since ${noted.release}: ${risen.join('; ')}.`;
}

/**
 * The same as `risenCosts`, but scenarios with a cost that seems to have risen run again, and the median is that of all
 * rounds.
 */
export async function heldCosts(
  costs: readonly MeasuredCost[],
  noted: NotedCosts,
  measureAgain: (scenarios: readonly string[]) => Promise<readonly MeasuredCost[]>,
): Promise<string | undefined> {
  let known = costs;
  for (let look = 1; look < looks; look += 1) {
    const risen = known.filter((cost) => risenCosts([cost], noted) !== undefined);
    if (risen.length === 0) return undefined;
    known = pooled(known, await measureAgain(scenariosOf(risen)));
  }
  return risenCosts(known, noted);
}

/** Costs from all looks, as a release notes them. */
export async function thoroughCosts(
  costs: readonly MeasuredCost[],
  measureAgain: (scenarios: readonly string[]) => Promise<readonly MeasuredCost[]>,
): Promise<readonly MeasuredCost[]> {
  let known = costs;
  for (let look = 1; look < looks; look += 1) known = pooled(known, await measureAgain(scenariosOf(known)));
  return known;
}

function scenariosOf(costs: readonly MeasuredCost[]): string[] {
  return [...new Set(costs.map(({ scenario }) => scenario))];
}

/** The rounds of both, for each work. */
function pooled(costs: readonly MeasuredCost[], more: readonly MeasuredCost[]): MeasuredCost[] {
  return costs.map((cost) => {
    const again = more.filter(({ what }) => what === cost.what);
    return { ...cost, rounds: [cost, ...again].flatMap(({ rounds }) => rounds) };
  });
}

/** Costs beside those of the last release. */
export function costTable(costs: readonly Cost[], noted: NotedCosts): Table {
  return {
    title: `CPU of api, worker and Redis, as a multiple of the bare job's; the guard is at ${1 + mostRise} times the last release`,
    columns: ['', `release ${noted.release}`, 'measured'],
    rows: costs.map(({ what, rounds }) => [
      what,
      figure(noted.costs[what] ?? Number.NaN),
      spreadFigure(spread(rounds)),
    ]),
  };
}

export async function notedCosts(): Promise<NotedCosts> {
  return JSON.parse(await readFile(file, 'utf8')) as NotedCosts; // `noteCosts` wrote it
}

/** Notes costs as those of this release. Those of scenarios that did not run stay. */
export async function noteCosts(costs: readonly Cost[]): Promise<void> {
  const before = await notedCosts();
  const now = costs.map(({ what, rounds }) => [what, Math.round(median(rounds) * 1_000) / 1_000]);
  const noted = {
    release: describeMachine().sluice,
    costs: { ...before.costs, ...Object.fromEntries(now) },
  };
  await writeFile(file, `${JSON.stringify(noted, undefined, 2)}\n`);
}
