import type { Machine } from './machine.ts';
import type { ScenarioReport } from './scenario.ts';
import { spread } from './statistics.ts';
import { renderTable, spreadFigure } from './table.ts';

export interface PageInput {
  date: Date;
  elapsedMs: number;
  quick: boolean;
  machine: Machine;
  redis: { version: string; persistence: string };
  reports: readonly TimedReport[];
}

export interface TimedReport extends ScenarioReport {
  name: string;
  elapsedMs: number;
  /** How long Redis took for a fixed piece of work, each time. */
  controlMs: readonly number[];
}

/** The page of results, in Markdown. Every figure on it was measured or read in this run. */
export function renderPage({ date, elapsedMs, quick, machine, redis, reports }: PageInput): string {
  // A section says by itself when and where it was measured, so that one can be measured again and the others kept.
  const day = date.toISOString().slice(0, 10);
  const footer = ({ name, elapsedMs: tookMs, controlMs }: TimedReport) =>
    `_\`npm run bench -- --scenario ${name}\`, ${day}, ${machine.cpu}: ${Math.round(tookMs / 1000)} s.${control(controlMs)}_`;
  const sections = reports.map((report) =>
    [`## ${report.title}`, report.description, ...report.tables.map(renderTable), footer(report)].join(
      '\n\n',
    ),
  );
  return `${[introduction(quick), conditions({ date, elapsedMs, machine, redis }), ...sections].join('\n\n')}\n`;
}

function control(timesMs: readonly number[]): string {
  return timesMs.length === 0
    ? ''
    : ` Redis took ${spreadFigure(spread(timesMs.map((ms) => ms * 1_000)))} µs for the control.`;
}

function introduction(quick: boolean): string {
  const kind = quick ? 'This was a quick run, which shows that everything works and little more.\n\n' : '';
  return `# Benchmarks

<!-- Written by \`npm run bench\`. Do not edit: run it again. -->

${kind}\`npm run bench\` builds the apps, runs every scenario against them and writes docs/benchmarks.md. It needs a Redis or Valkey
server on the PATH, or \`REDIS_URL\`, and takes some ten minutes; \`npm run bench -- --quick\` is a smoke run, and
\`npm run bench -- --help\` tells the rest. Scenarios that take longer run when they are asked for, and their sections stay on the page.

Every process is real and runs on one machine: load generator, api, worker, Redis and upstream share its cores. So the
ratios say more than the rates. Alternatives take turns, round by round; a figure is the median of its rounds, with the
lowest and the highest in brackets. CPU is the time of a whole process with all its threads, over all rounds. The control
is a script of the same work for Redis in every round, by Redis's own CPU time: two sections are of equally fast machines if
theirs are alike.`;
}

function conditions({ date, elapsedMs, machine, redis }: Omit<PageInput, 'quick' | 'reports'>): string {
  return [
    '| | |',
    '| --- | --- |',
    `| date | ${date.toISOString().slice(0, 16).replace('T', ' ')} UTC, ${Math.round(elapsedMs / 1000)} s |`,
    `| machine | ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.system} |`,
    `| versions | sluice ${machine.sluice}, Node ${machine.node}, BullMQ ${machine.bullmq}, undici ${machine.undici} |`,
    `| store | ${redis.version}, ${redis.persistence} |`,
  ].join('\n');
}
