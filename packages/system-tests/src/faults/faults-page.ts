import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import type { Redis } from 'ioredis';
import { percentile } from '../statistics.ts';
import type { CorpusResult } from './corpus/run-corpus.ts';
import { recovery } from './fault-site.ts';
import { arrivals, cellAt, faults, faultsOfStore, isPromised, nameOf, places } from './matrix.ts';
import { heapBounds, type HostileResult, quietEveryMs, rounds } from './hostile/run-hostile.ts';
import type { BatchKillsResult } from './batch-kills.ts';
import type { OutageResult } from './long-outage.ts';
import type { EventsResult } from './cut-streams.ts';
import type { MixResult } from './mix.ts';
import type { TestedResult } from './run-tests-without.ts';
import type { MutantResult } from './mutants.ts';
import type { Try } from './round.ts';
import type { SeveralPrimaries } from './site-stores.ts';
import type { SoakResult } from './soak.ts';

export interface Table {
  title: string;
  text: string;
  columns: readonly string[];
  rows: readonly (readonly string[])[];
}

export interface FaultsPage {
  /** What ran: a size, or a number of tries. */
  size: string;
  seed: number;
  tookMs: number;
  redis: Redis;
  sections: readonly Table[];
}

/** The page of results, in Markdown. Every figure on it was measured or read in this run. */
export async function renderFaultsPage({ sections, ...run }: FaultsPage): Promise<string> {
  const bodies = sections.map(render);
  const about = await conditions(run);
  return `${[introduction, about, ...bodies].join('\n\n')}\n`;
}

function render({ title, text, columns, rows }: Table): string {
  return [`## ${title}`, text, ...(rows.length > 0 ? [table(columns, rows)] : [])].join('\n\n');
}

/** A page with these sections in place of those with the same titles; new ones come last. */
export function renewSections(page: string, sections: readonly Table[]): string {
  const [head = '', ...bodies] = page.trimEnd().split(/\n\n(?=## )/);
  const titleOf = (body: string) => body.split('\n', 1)[0];
  const renewed = new Map(bodies.map((body) => [titleOf(body), body]));
  for (const body of sections.map(render)) renewed.set(titleOf(body), body);
  return `${[head, ...renewed.values()].join('\n\n')}\n`;
}

const introduction = `# Faults

<!-- Written by \`npm run test:faults\`. Do not edit: run it again. -->

What becomes of responses when something dies. \`npm run test:faults\` builds the apps, runs this and writes the page; it
needs a Redis or Valkey server on the PATH. Two apis and two workers run as built, over a Redis with its log on disk and a
proxy in the path to it. Each token of the upstream names its prompt, its call and its number, so text that was lost,
repeated or mixed shows by itself. The lock of a job is ${recovery.lockMs / 1000} s here and the scan every ${recovery.stalledMs} ms, where the
defaults are 10 s and 3 s.

After each fault every response is held against the same rules: what was accepted has one end; two reads agree byte for
byte, and so do the caller's body, the last event, and the replays of both apis; sequence numbers have no gap and no
repeat over all connections of a caller; the text is that of one call; calls are bounded; what was refused was never
called; counters and keys return to nothing.`;

/** A section of the matrix for each fault that ran. Times are in milliseconds. */
export function matrixSections(tries: readonly Try[]): Table[] {
  const named = Map.groupBy(tries, ({ name }) => name);
  return faults.flatMap((fault) => {
    const rows = places
      .filter((place) => place.fault === fault)
      .flatMap((place) => {
        const cell = cellAt(place);
        const where = [place.moment, place.mode];
        if (!isPromised(cell)) return [[...where, `Cannot happen: ${cell.cannotHappen}.`, ...noFigures]];
        const found = named.get(nameOf(place));
        return found ? [[...where, cell.promise, ...figuresOf(found)]] : [];
      });
    const arriving = named.get(`${fault} / arriving`);
    if (arriving)
      rows.push(['arriving during it', 'all', arrivals[fault]?.promise ?? '', ...figuresOf(arriving)]);
    const afterwards = named.get(`${fault} / afterwards`);
    if (!afterwards) return [];
    rows.push(['afterwards', 'all', 'Counters and keys return to nothing.', ...figuresOf(afterwards)]);
    return [{ title: fault.charAt(0).toUpperCase() + fault.slice(1), text: timesText, columns, rows }];
  });
}

const timesText =
  'Times are milliseconds from the fault, or from the end of an outage, to the end of the response; for a refusal, to its answer.';
const columns = ['when', 'mode', 'promise', 'tries', 'violations', 'p50', 'p99', 'max'];
const noFigures = ['–', '–', '–', '–', '–'];

function figuresOf(tries: readonly Try[]): string[] {
  const times = tries.flatMap(({ tookMs }) => (tookMs === undefined ? [] : [tookMs]));
  const violations = tries.filter(({ problems }) => problems.length > 0).length;
  return [
    String(tries.length),
    String(violations),
    ...[0.5, 0.99, 1].map((share) => figure(percentile(times, share))),
  ];
}

/** A row for each fault of one of three primaries: responses of its cell, and those beside it. */
export function cellsSection(topology: SeveralPrimaries, tries: readonly Try[]): Table {
  const rows = faultsOfStore.flatMap((fault) => {
    const found = tries.filter(({ name }) => name.startsWith(`${fault} / `));
    if (found.length === 0) return [];
    const beside = found.filter(({ name }) => name === `${fault} / beside`);
    const struck = found.filter((each) => !beside.includes(each));
    const violations = (of: readonly Try[]) =>
      figure(of.filter(({ problems }) => problems.length > 0).length);
    const times = beside.flatMap(({ tookMs }) => tookMs ?? []);
    return [
      [
        fault,
        ...[struck.length, violations(struck), beside.length, violations(beside)].map(String),
        ...[0.5, 0.99].map((share) => figure(percentile(times, share))),
      ],
    ];
  });
  return {
    title: topology === 'cluster' ? 'One primary of a cluster' : 'One of three primaries',
    text: `The service has three cells, each with a primary of its own${topology === 'cluster' ? ', and the primaries are those of one cluster' : ''}. The faults befall one of them, the first one and another one by turns, and what is there has the promises of the tables above. A tenant of another cell asks all the while, one request after the other: each must be served, within 1.5 s. Its times are in milliseconds.`,
    columns: ['fault', 'tries there', 'violations', 'requests beside it', 'violations', 'p50', 'p99'],
    rows,
  };
}

/** What became of wrong requests, and of a neighbour beside them. */
export function corpusSection({ sent, statuses, problems, times, alonePercentiles }: CorpusResult): Table {
  const byStatus = [...statuses].toSorted(([one], [other]) => one - other);
  const beside = (fraction: number) =>
    `${figure(percentile(times.good, fraction))} ms beside good ones, ${figure(percentile(times.none, fraction))} ms alone`;
  return {
    title: 'Bad requests',
    text: 'Requests made from the schemas of the contract and then broken: members of the wrong type, out of range, missing, unknown or named twice, broken JSON and UTF-8, odd headers, methods, ids and queries. Each is different. Each must get an error in the envelope that names the member at fault, and none a 5xx other than a 503. A neighbour, another tenant, sends good requests to the same api all the time, at the same pace whether those before are answered or not. Its times are from when a request was due. Blocks of bad requests take turns with as many good ones of a third tenant, at the same pace, and with pauses: what the neighbour waits longer beside bad ones than beside good ones is their fault.',
    columns: ['', 'measured', 'to compare with'],
    rows: [
      ['requests', figure(sent), '10,000 or more'],
      ['violations', figure(problems.length), '0'],
      ...byStatus.map(([status, count]) => [`answered with ${status}`, figure(count), '']),
      ['requests of the neighbour beside them', figure(times.bad.length), 'all answered with 200'],
      ['their p50', `${figure(percentile(times.bad, 0.5))} ms`, beside(0.5)],
      ['their p99', `${figure(percentile(times.bad, 0.99))} ms`, beside(0.99)],
      ['their longest', `${figure(percentile(times.bad, 1))} ms`, beside(1)],
      [
        'p99 alone, pause by pause',
        `${figure(Math.min(...alonePercentiles))} to ${figure(Math.max(...alonePercentiles))} ms`,
        'how much noise there is',
      ],
    ],
  };
}

/** What a quiet tenant feels of a hostile one, and what processes hold meanwhile. */
export function hostileSections({ cells, heaps, outcomes, atRest, violations }: HostileResult): Table[] {
  const p99 = (times: readonly number[]) => percentile(times, 0.99);
  const each = (inRounds: readonly (readonly number[])[]) =>
    inRounds.map((times) => figure(p99(times))).join(', ');
  return [
    {
      title: 'A hostile tenant beside a quiet one',
      text: `Measured on ${new Date().toISOString().slice(0, 10)}, at the heaps and limits of the compose file. One tenant sends valid requests that press on a mechanism which all share; in turn with it, another one sends the same load without that. A quiet tenant sends a short request every ${quietEveryMs} ms, whether those before are answered or not. Times are its 99th percentiles in milliseconds, from when a request was due, one for each of ${rounds} rounds, and the longest of all. The ratio is that of the percentiles of all rounds together. The goal is at most 1.2, as far as the machine can tell: the last column compares the control with itself, the larger of its odd and even rounds with the smaller. Violations, which are requests of the quiet tenant that were not answered, steps of a load that came to something else than is meant, processes that ended, and heaps beyond their budgets: ${violations.length}.`,
      columns: [
        'mechanism',
        'hostile',
        'control',
        'when',
        'requests',
        'p99, hostile',
        'p99, control',
        'longest, hostile',
        'longest, control',
        'ratio',
        'control with itself',
      ],
      rows: cells.map(({ load, moment, times }) => [
        load.mechanism,
        load.words.hostile,
        load.words.good,
        moment,
        figure(times.hostile.flat().length),
        each(times.hostile),
        each(times.good),
        figure(Math.max(...times.hostile.flat())),
        figure(Math.max(...times.good.flat())),
        (p99(times.hostile.flat()) / p99(times.good.flat())).toFixed(2),
        differenceOf(times.good).toFixed(2),
      ]),
    },
    {
      title: 'Memory under a hostile tenant',
      text: `The live heap of a process after a full collection while each hostile load is under way, beyond the ${figure(atRest.api)} MiB of an api and ${figure(atRest.worker)} MiB of a worker at rest. The budgets of a process add up to ${figure(heapBounds.api)} MiB in an api and ${figure(heapBounds.worker)} MiB in a worker ([budgets.md](budgets.md)); more than that is a violation.`,
      columns: ['mechanism', 'api, MiB', 'worker, MiB', 'RSS of the api, MiB', 'RSS of the worker, MiB'],
      rows: heaps.map(({ mechanism, api, worker, rss }) => [
        mechanism,
        figure(api - atRest.api),
        figure(worker - atRest.worker),
        figure(rss.api),
        figure(rss.worker),
      ]),
    },
    {
      title: 'What the loads of the hostile tenant came to',
      text: 'The steps of each load that were done in all rounds, by what each came to: the status of its answer, or what else is meant. Anything that the load does not expect is a violation.',
      columns: ['mechanism', 'hostile', 'control'],
      rows: outcomes.map(({ mechanism, came }) => [mechanism, wordsOf(came.hostile), wordsOf(came.good)]),
    },
  ];
}

function wordsOf(came: ReadonlyMap<string, number>): string {
  return byName(came)
    .map(([what, times]) => `${what}: ${figure(times)}`)
    .join(', ');
}

/** How much the odd rounds of one load differ from the even ones, by nothing but chance. */
function differenceOf(inRounds: readonly (readonly number[])[]): number {
  const halves = [0, 1].map((parity) =>
    percentile(inRounds.filter((_, at) => at % 2 === parity).flat(), 0.99),
  );
  return Math.max(...halves) / Math.min(...halves);
}

/** The cells that notice that a mechanism is missing. */
export function mutantsSection(results: readonly MutantResult[]): Table {
  return {
    title: 'Mechanisms that are switched off',
    text: 'A line is replaced in a copy of the build, and the cells that stand on it run. At least one of them must fail.',
    columns: ['without it', 'cells', 'failures', 'the first one'],
    rows: results.map(({ mutant, failed }) => [
      mutant.name,
      mutant.only,
      figure(failed.length),
      (failed[0] ?? 'none: nobody noticed').split('\n', 1)[0]?.replaceAll('|', '/').slice(0, 160) ?? '',
    ]),
  };
}

/** The tests that notice that a mechanism is missing. */
export function testedSection(results: readonly TestedResult[]): Table {
  return {
    title: 'Mechanisms that are switched off, and the tests that notice',
    text: 'A line is replaced in a copy of the sources, and the tests of the mechanism run. At least one of them must fail.',
    columns: ['without it', 'the first test that fails'],
    rows: results.map(({ mechanism, failed }) => [mechanism.name, failed[0] ?? '**nobody noticed**']),
  };
}

/** What became of responses while faults of every kind happened. */
export function mixSection(
  { responses, ends, faults: met, unpromised, violations }: MixResult,
  minutes: number,
): Table {
  return {
    title: 'Faults of every kind, mixed',
    text: `For ${minutes} min, faults at moments that follow from the seed, sometimes two at once, while callers of every mode come and go. Each response is held against the rules above, and its end against the faults of its time.`,
    columns: ['', 'count'],
    rows: [
      ['responses', figure(responses)],
      ['violations', figure(violations.length)],
      ['refused, and ran: Redis went away after the job was sent, which is not promised', figure(unpromised)],
      ...byName(ends).map(([end, count]) => [end, figure(count)]),
      ...byName(met).map(([fault, count]) => [`fault: ${fault}`, figure(count)]),
    ],
  };
}

/** What readers of long streams saw while everything around them broke. */
export function eventsSection(result: EventsResult): Table {
  return {
    title: 'Events of streams that are cut all the time',
    text: 'Readers cut their connections after a random number of events and resume at any api, while processes are killed, connections are cut, and replies are lost. A number that is missing or comes twice is a violation, and so is a stream that differs from its replay.',
    columns: ['', 'count'],
    rows: [
      ['streams', figure(result.streams)],
      ['events', figure(result.events)],
      ['connections that were resumed', figure(result.reconnects)],
      ['violations', figure(result.violations.length)],
      ...byName(result.ends).map(([end, count]) => [`ended with ${end}`, figure(count)]),
      ...byName(result.faults).map(([fault, count]) => [`fault: ${fault}`, figure(count)]),
    ],
  };
}

/** How an api refuses requests while Redis is away, in fifths of that time. */
export function outageSection(result: OutageResult): Table {
  const { minutes, requests, rssBeforeMiB, parts, recoveredMs, violations } = result;
  return {
    title: 'A long outage under load',
    text: `Redis is dead for ${minutes} min while ${figure(requests)} requests come at the same rate, and each must be refused with 503 within 100 ms in 99 of 100 cases, but for the first two seconds. The api took ${figure(rssBeforeMiB)} MiB before. The first answer came ${figure(recoveredMs)} ms after Redis was back, where 3 s are promised. Violations: ${violations.length}.`,
    columns: ['fifth', 'p50 ms', 'p99 ms', 'max ms', 'CPU of a core', 'memory (RSS), MiB', 'lines of log'],
    rows: parts.map(({ p50Ms, p99Ms, maxMs, cpu, rssMiB, lines }, at) => [
      String(at + 1),
      p50Ms.toFixed(1),
      p99Ms.toFixed(1),
      figure(maxMs),
      `${(cpu * 100).toFixed(0)} %`,
      figure(rssMiB),
      figure(lines),
    ]),
  };
}

/** A batch whose processes were killed. */
export function batchSection({ lines, minutes, kills, tokens, used, violations }: BatchKillsResult): Table {
  return {
    title: 'A batch under kills',
    text: `A batch of ${figure(lines)} lines runs on two apis and two workers for ${minutes.toFixed(1)} min, while they and Redis are killed and started again. Each line must have one answer, and usage must be what the answers say: ${figure(tokens.input)} tokens of input and ${figure(tokens.output)} of output by the answers, ${figure(used.input)} and ${figure(used.output)} by usage. Violations: ${violations.length}.`,
    columns: ['killed', 'times'],
    rows: [...kills].map(([victim, times]) => [victim, String(times)]),
  };
}

/** What the processes took over a long time. */
export function soakSection(result: SoakResult): Table {
  const { minutes, responses, ends, left, kills, rows, violations } = result;
  const units = {
    heapMiB: 'alive after a full collection, MiB',
    rssMiB: 'memory (RSS), MiB',
    fds: 'open files and sockets',
    keys: 'keys',
    connections: 'connections',
  };
  return {
    title: 'Soak',
    text: `${minutes} min with ${figure(responses)} responses, of which ${figure(left)} callers left before the end, and ${kills.length} kills of other processes. They ended: ${wordsOf(ends)}. What neither its caller nor a kill explains is a violation. The first quarter is warm-up and not counted. Memory (RSS) grows for a while whatever a process holds; what is alive in it says whether it leaks. A slope says little in less than an hour, in which the goal for memory is less than 5 %. Files, sockets and connections must be back behind the load, and so must counters and keys: ${violations.length} violations.`,
    columns: ['process', 'what', 'first', 'last', 'slope per hour', 'of the mean'],
    rows: rows.map(({ process, what, first, last, slope, share }) => [
      process,
      units[what],
      figure(first),
      figure(last),
      slope.toFixed(1),
      `${(share * 100).toFixed(1)} %`,
    ]),
  };
}

function byName(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].toSorted(([one], [other]) => one.localeCompare(other));
}

/** A whole number, or a dash where nothing was measured. */
export function figure(value: number): string {
  return Number.isFinite(value) ? Math.round(value).toLocaleString('en-US') : '–';
}

/** What the figures of a page depend on, as a table. */
async function conditions({ seed, tookMs, redis, size }: Omit<FaultsPage, 'sections'>): Promise<string> {
  const cpu = cpus()[0]?.model.trim() ?? 'unknown';
  const memoryGiB = Math.round(totalmem() / 2 ** 30);
  const server = /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? 'unknown';
  return table(
    ['', ''],
    [
      [
        'date',
        `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, ${Math.round(tookMs / 1000)} s`,
      ],
      ['machine', `${cpu}, ${availableParallelism()} cores, ${memoryGiB} GiB, ${type()} ${release()}`],
      ['versions', `sluice ${ownVersion()}, Node ${process.version.slice(1)}, Redis ${server}`],
      ['seed', String(seed)],
      ['size', size],
    ],
  );
}

function ownVersion(): string {
  const text = readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version; // every package.json has a version
}

/** A table in Markdown. Words of the first column are aligned left, and figures right. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, at) => (at === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}
