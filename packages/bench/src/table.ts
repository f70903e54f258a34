import type { CpuTimes } from './cpu-times.ts';
import { type Spread, sum } from './statistics.ts';

export interface Table {
  title: string;
  columns: readonly string[];
  rows: readonly (readonly string[])[];
}

/** A table in Markdown. Words are aligned left, and figures right. */
export function renderTable({ title, columns, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = columns.map((_, at) => (at === 0 ? '---' : '---:'));
  return [`**${title}**`, '', line(columns), line(rule), ...rows.map(line)].join('\n');
}

/** A number with its significant digits. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(size >= 10 ? 1 : 2);
}

/** Median and range of a figure. */
export function spreadFigure({ median, min, max }: Spread): string {
  return `${figure(median)} (${figure(min)}..${figure(max)})`;
}

/** CPU time of each process for one piece of work, in microseconds, over all rounds and in the order of the columns. */
export function cpuCells<Round extends { cpuMs: CpuTimes }>(
  rounds: readonly Round[],
  roles: readonly string[],
  worksOf: (round: Round) => number,
): string[] {
  const works = sum(rounds.map(worksOf));
  const perWork = (role: string) => (totalCpuMs(rounds, role) * 1000) / works;
  const cells = roles.map((role) => figure(perWork(role)));
  const known = roles.map(perWork).filter((value) => Number.isFinite(value));
  return [...cells, figure(sum(known))];
}

/** NaN for a process that takes no part, or whose time is unknown. */
function totalCpuMs(rounds: readonly { cpuMs: CpuTimes }[], role: string): number {
  return sum(rounds.map(({ cpuMs }) => cpuMs.get(role) ?? Number.NaN));
}
