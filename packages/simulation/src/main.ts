// oxlint-disable-next-line import/no-unassigned-import -- It must come before the modules of the service.
import './world/replace-builtins.ts';
import { readFileSync } from 'node:fs';
import { terminalProgress } from '@sluice/testing';
import { readCommandLine } from './command-line.ts';
import { acceptedInMinutes, type CrowdName, crowds, heavyPart } from './story/crowds.ts';
import { makeScenario } from './story/make-scenario.ts';
import { rarePaths } from './story/rare-paths.ts';
import { type Result, runScenario } from './story/run-scenario.ts';
import type { Scenario } from './story/scenario.ts';
import { shorten } from './story/shorten.ts';

/** From so many seeds on each rare path must have been reached. */
const seedsForAll = 1_000;

const line = readCommandLine(process.argv.slice(2));
const print = (text: string) => process.stdout.write(`${text}\n`);

process.exitCode = await main();

async function main(): Promise<number> {
  if (line.replay !== undefined) return replay(makeScenario(line.replay));
  const isAlone = line.scenarios.length === 1 && line.crowds.length === 0 && line.seeds === 0;
  let failed = 0;
  for (const file of line.scenarios) {
    print(file);
    const scenario = JSON.parse(readFileSync(file, 'utf8')) as Scenario; // as `shorten` has printed it
    failed += isAlone ? await replay(scenario) : tellProblems(await runScenario(scenario));
  }
  for (const crowd of line.crowds) failed += await runCrowd(crowd);
  if (line.seeds > 0) failed += await runSeeds();
  return Math.min(failed, 1);
}

/** Tells the history of one scenario. */
async function replay(scenario: Scenario): Promise<number> {
  const result = await runScenario(scenario, print);
  print(`\n${result.digest}: ${result.steps} steps`);
  return tellProblems(result);
}

function tellProblems({ problems }: Pick<Result, 'problems'>): number {
  for (const problem of problems) print(`PROBLEM ${problem}`);
  return Math.min(problems.length, 1);
}

/** Says how much each tenant of a crowd has had, as JSON, and what is wrong with its history. */
async function runCrowd(name: CrowdName): Promise<number> {
  const { problems, calls, callers } = await runScenario(crowds[name](line.from));
  print(JSON.stringify(name === 'shares' ? { heavyPart: heavyPart(calls) } : acceptedInMinutes(callers)));
  return tellProblems({ problems });
}

async function runSeeds(): Promise<number> {
  const progress = terminalProgress(process.stdout);
  const startedAt = performance.now();
  const minutes = () => (performance.now() - startedAt) / 60_000;
  const totals = { seeds: 0, failed: 0, responses: 0, simulatedMs: 0, steps: 0 };
  const reached = new Map<string, number>();
  for (let seed = line.from; seed < line.from + line.seeds; seed += 1) {
    if (line.minutes !== undefined && minutes() >= line.minutes) break;
    progress.say(`seed ${seed}: ${totals.failed} of ${totals.seeds} have failed`);
    const result = await runScenario(makeScenario(seed));
    add(totals, result);
    for (const [name, count] of result.reached) reached.set(name, (reached.get(name) ?? 0) + count);
    if (line.digests) print(`${seed} ${result.digest}`);
    if (result.problems.length === 0) continue;
    progress.clear();
    totals.failed += 1;
    print(`seed ${seed} FAILED`);
    for (const problem of result.problems) print(`  ${problem.slice(0, 2_000)}`);
    if (line.first) break;
    await tellShortest(seed, result);
  }
  progress.clear();
  print(
    `${totals.seeds} seeds, ${totals.failed} failed: ${totals.responses} responses in ${Math.round(totals.simulatedMs / 1000)} s of theirs and ${(minutes() * 60).toFixed(1)} s of ours, ${Math.round(totals.responses / minutes())} a minute, ${totals.steps} steps`,
  );
  const missed = rarePaths.filter((name) => !reached.has(name));
  for (const name of rarePaths) print(`${String(reached.get(name) ?? 0).padStart(8)}  ${name}`);
  return totals.failed > 0 || (totals.seeds >= seedsForAll && missed.length > 0) ? 1 : 0;
}

function add(
  totals: { seeds: number; responses: number; simulatedMs: number; steps: number },
  result: Result,
): void {
  totals.seeds += 1;
  totals.responses += result.responses;
  totals.simulatedMs += result.simulatedMs;
  totals.steps += result.steps;
}

async function tellShortest(seed: number, { problems }: Result): Promise<void> {
  const wanted = problems.map(kindOf);
  const shortest = await shorten(makeScenario(seed), async (scenario) => {
    const { problems: found } = await runScenario(scenario);
    return found.some((problem) => wanted.includes(kindOf(problem)));
  });
  const { problems: left } = await runScenario(shortest);
  print(`  the shortest that still fails, for --scenario: ${JSON.stringify(shortest)}`);
  for (const problem of left) print(`  ${problem.slice(0, 2_000)}`);
}

/** A problem without what differs from scenario to scenario. */
function kindOf(problem: string): string {
  return problem.replaceAll(/c\d+ \([a-z ]+\)|[\w-]*\d[\w-]*|\{.*\}/g, '').slice(0, 60);
}
