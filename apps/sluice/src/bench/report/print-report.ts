import { count, figure, percent, setTime, time } from './format.ts';
import type { Distribution } from './histogram.ts';
import type { GroupReport, Report, ReportedSettings } from './report.ts';
import { remarksOn } from './report-remarks.ts';

/** Marks parts of a text, for a terminal. */
export interface Style {
  title: (text: string) => string;
  quiet: (text: string) => string;
  bad: (text: string) => string;
  warn: (text: string) => string;
}

interface Row {
  name: string;
  group: GroupReport;
}

/** The report as text, ready to be printed. */
export function printedReport(report: Report, style: Style): string {
  const rows = rowsOf(report);
  const nameWidth = Math.max(14, ...rows.map(({ name }) => name.length));
  const { all } = report;
  const sections = [
    settingsSection(report.settings, style),
    throughputSection(report, rows, { nameWidth, style }),
    timesSection('Time to first token', 'time_to_first_token_ms', rows, { nameWidth, style }),
    timesSection('Time between tokens', 'time_between_tokens_ms', rows, { nameWidth, style }),
    timesSection('Time to acceptance', 'time_to_acceptance_ms', rows, { nameWidth, style }),
    timesSection('Latency', 'latency_ms', rows, { nameWidth, style }),
    errorsSection(all, style),
    refusalsSection(all, style),
    remarksOn(report).map((remark) => `${style.warn('!')} ${remark}`),
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

/** All, and then the modes and the tenants, if there are several. */
function rowsOf({ all, modes, tenants }: Report): Row[] {
  const groups = (named: Record<string, GroupReport>, prefix = '') => {
    const found = Object.entries(named).map(([name, group]) => ({ name: prefix + name, group }));
    return found.length > 1 ? found : [];
  };
  return [{ name: 'all', group: all }, ...groups(modes), ...groups(tenants, 'tenant ')];
}

function settingsSection(settings: ReportedSettings, style: Style): string[] {
  const { url, model, modes, tenants, load, warmup, input, max_output_tokens, retries, timeout_ms, seed } =
    settings;
  const extent = [
    ...(settings.requests === null ? [] : [requestsOf(settings.requests)]),
    ...(settings.duration_ms === null ? [] : [setTime(settings.duration_ms)]),
  ].join(' or ');
  const kind =
    load['kind'] === 'closed'
      ? `closed loop, ${count(Number(load['concurrency']))} at a time`
      : `open loop, ${load['rate']} a second, ${load['arrivals']} arrivals`;
  const before = warmup
    ? `, after ${warmup.requests === undefined ? setTime(warmup.duration_ms ?? 0) : requestsOf(warmup.requests)} of warm-up`
    : '';
  const limits = [
    ...(max_output_tokens === null ? [] : [`at most ${count(max_output_tokens)} output tokens`]),
    ...(settings.service_tier === null ? [] : [`service tier ${settings.service_tier}`]),
    `time-out ${setTime(timeout_ms)}`,
    ...(retries > 0 ? [`up to ${retries} retries`] : []),
  ];
  const lines: [string, string][] = [
    ['Endpoint', url],
    ['Model', model ?? 'that of each body'],
    ['Load', `${kind}, ${extent}${before}`],
    ['Modes', modes ? sharesOf(modes) : 'that of each body'],
    ...(Object.keys(tenants).length > 1 ? [['Tenants', sharesOf(tenants)] satisfies [string, string]] : []),
    ['Input', `${inputOf(input)}; seed ${seed}`],
    ['Requests', limits.join(', ')],
  ];
  return lines.map(([name, value]) => `${style.quiet(name.padEnd(10))} ${value}`);
}

function requestsOf(requests: number): string {
  return `${count(requests)} request${requests === 1 ? '' : 's'}`;
}

function inputOf(input: ReportedSettings['input']): string {
  if (input['kind'] === 'invented')
    return `about ${count(Number(input['tokens']))} tokens, different each time`;
  if (input['kind'] === 'file')
    return input['path'] === '-' ? 'bodies from stdin' : `bodies of ${input['path']}`;
  return 'the same prompt each time';
}

/** Names and shares. Shows the first names if there are many. */
function sharesOf(weights: Record<string, number>): string {
  const entries = Object.entries(weights);
  const sum = entries.reduce((total, [, weight]) => total + weight, 0);
  const [only] = entries;
  if (entries.length === 1 && only) return only[0];
  const shown = entries.slice(0, 5).map(([name, weight]) => `${name} ${percent(weight / sum)}`);
  return [...shown, ...(entries.length > 5 ? [`${count(entries.length - 5)} more`] : [])].join(', ');
}

interface TableOptions {
  nameWidth: number;
  style: Style;
}

function throughputSection(
  { elapsed_seconds, all }: Report,
  rows: readonly Row[],
  { nameWidth, style }: TableOptions,
): string[] {
  const hasTokens = all.output_tokens !== null;
  const columns: [title: string, value: (group: GroupReport) => string][] = [
    ['answered', (group) => count(group.answered)],
    ['errors', (group) => count(group.errors)],
    ...(all.not_sent > 0 ? [['not sent', (group) => count(group.not_sent)] satisfies Column] : []),
    ...(all.unfinished > 0 ? [['unfinished', (group) => count(group.unfinished)] satisfies Column] : []),
    ['requests/s', (group) => figure(group.requests_per_second)],
    hasTokens
      ? ['out tokens/s', (group) => orDash(group.output_tokens_per_second)]
      : ['out events/s', (group) => figure(group.output_events_per_second)],
  ];
  const head = `Throughput, ${time(elapsed_seconds * 1000)}`;
  const widths = columns.map(([title]) => Math.max(10, title.length));
  const cells = (texts: readonly string[]) =>
    texts.map((text, at) => text.padStart(widths[at] ?? 0)).join('  ');
  return [
    `${style.title(head.padEnd(nameWidth + 8))}${style.quiet(cells(columns.map(([title]) => title)))}`,
    ...rows.map(({ name, group }) => {
      const texts = columns.map(([title, value], at) => {
        const text = value(group).padStart(widths[at] ?? 0);
        return title === 'errors' && group.errors > 0 ? style.bad(text) : text;
      });
      return `  ${name.padEnd(nameWidth + 6)}${texts.join('  ')}`;
    }),
  ];
}

type Column = [title: string, value: (group: GroupReport) => string];

function orDash(value: number | null): string {
  return value === null ? '-' : figure(value);
}

type Measure = 'time_to_first_token_ms' | 'time_between_tokens_ms' | 'time_to_acceptance_ms' | 'latency_ms';

const percentiles = ['p50', 'p90', 'p99', 'max'] as const;

function timesSection(
  title: string,
  measure: Measure,
  rows: readonly Row[],
  { nameWidth, style }: TableOptions,
): string[] {
  const measured = rows.flatMap(({ name, group }) => {
    const distribution = group[measure];
    return distribution ? [{ name, distribution }] : [];
  });
  // If one mode alone has figures, those of all are the same.
  const [all, second] = measured;
  if (all && second?.distribution.count === all.distribution.count) measured.shift();
  if (measured.length === 0) return [];
  const line = (name: string, { p50, p90, p99, max }: Distribution) =>
    `  ${name.padEnd(nameWidth + 6)}${[p50, p90, p99, max].map((ms) => time(ms).padStart(10)).join('  ')}`;
  const heads = percentiles.map((each) => each.padStart(10)).join('  ');
  return [
    `${style.title(title.padEnd(nameWidth + 8))}${style.quiet(heads)}`,
    ...measured.map(({ name, distribution }) => line(name, distribution)),
  ];
}

const kinds = {
  status: '',
  connection: 'connection',
  timeout: 'time-out',
  broken_stream: 'broken stream',
  response: 'response failed',
  bad_answer: 'bad answer',
} as const;

function errorsSection({ errors_by_cause }: GroupReport, style: Style): string[] {
  const named = errors_by_cause.map(({ kind, status, code, count: times, message }) => ({
    name: [status === undefined ? kinds[kind] : String(status), code].filter((part) => part).join(' '),
    times,
    message,
  }));
  const width = Math.max(0, ...named.map(({ name }) => name.length));
  const lines = named.map(
    ({ name, times, message }) =>
      `  ${style.bad(count(times).padStart(8))}  ${name.padEnd(width)}  ${style.quiet(message)}`,
  );
  return lines.length > 0 ? [style.title('Errors'), ...lines] : [];
}

/** Answers with 429, whether they were tried again or not, and the retries. */
function refusalsSection({ rate_limited, retries }: GroupReport, style: Style): string[] {
  const waits = rate_limited.retry_after_ms;
  const told = waits
    ? `told to wait ${time(waits.p50)} (p50), ${time(waits.max)} (max)`
    : 'not told how long to wait';
  return [
    ...(rate_limited.count > 0
      ? [`${style.title('429')}      ${count(rate_limited.count)} times, ${told}`]
      : []),
    ...(retries > 0 ? [`${style.title('Retries')}  ${count(retries)}`] : []),
  ];
}
