import { open, readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { styleText } from 'node:util';
import { readVariable } from '@sluice/config';
import { FatalError } from '@sluice/runtime';
import { findDevelopmentKey } from '@sluice/tenants';
import { badUsage, parseFlags } from '../command-flags.ts';
import { serviceSources, type Surroundings } from '../service-sources.ts';
import { serviceUrl } from '../service-url.ts';
import { benchFlags, benchUsage, type BenchValues } from './flags/bench-flags.ts';
import { type BenchSettings, readBenchSettings } from './flags/bench-settings.ts';
import { firstModel } from './choose-model.ts';
import { Endpoint, isLoopback, readUrl, shownUrl } from './exchange/endpoint.ts';
import { badFlag } from './flags/flag-values.ts';
import { count } from './report/format.ts';
import { printedReport, type Style } from './report/print-report.ts';
import { openProgressBar, type ProgressBar } from './report/progress-bar.ts';
import type { Weighted } from './load/deck.ts';
import { seededRandom } from './load/random.ts';
import { type Report, reportOf } from './report/report.ts';
import {
  inTurn,
  inventedPrompts,
  mostInputBytes,
  type NextBody,
  readBodies,
  samePrompt,
} from './load/request-bodies.ts';
import { runLoad } from './load/run-load.ts';
import { readTenants, type Tenant } from './flags/tenants.ts';

/**
 * `sluice bench`: drives an endpoint with load and prints a report on standard output. Progress goes to standard error,
 * on a terminal only.
 *
 * @throws {FatalError} with exit code 1 when a request was not answered, 2 for wrong flags.
 */
export async function runBench(argv: readonly string[], { env, cwd }: Surroundings): Promise<void> {
  const { values, positionals } = parseFlags('bench', argv, benchFlags);
  if (values.help) return console.log(benchUsage);
  if (positionals.length > 0) throw badUsage('bench', 'every argument has a flag; the address is --url');
  const prepared = await prepare(values, { env, cwd });
  const endpoint = new Endpoint({ url: prepared.url, headers: prepared.settings.headers });
  const bar = openProgressBar(process.stderr);
  const interrupts = watchInterrupts(bar);
  let report: Report;
  try {
    report = await measure(prepared, { endpoint, bar, interrupts });
  } finally {
    bar.close();
    interrupts.close();
    await endpoint.close();
  }
  console.log(values.json ? JSON.stringify(report, undefined, 2) : printedReport(report, terminalStyle));
  if (interrupts.leave.aborted) process.exitCode = 130;
  else failUnlessAnswered(report);
}

/** The settings of a run, from the flags, the files and the environment. */
interface Prepared {
  settings: BenchSettings;
  url: URL;
  tenants: Weighted<Tenant>[];
  bodies: Bodies;
}

async function prepare(values: BenchValues, { env, cwd }: Surroundings): Promise<Prepared> {
  const settings = readBenchSettings(values);
  const url = readUrl(values.url ?? `${serviceUrl(serviceSources({}, { env, cwd })).replace(/\/+$/, '')}/v1`);
  const keys = values.key ?? [];
  const file = values.keys === undefined ? undefined : await readText('keys', values.keys);
  const fallback = keys.length > 0 || file !== undefined ? undefined : await keyOf(url, { env, cwd });
  const tenants = readTenants({ keys, file, mix: values.tenants }, fallback);
  return { settings, url, tenants, bodies: await bodiesOf(settings) };
}

interface Measuring {
  endpoint: Endpoint;
  bar: ProgressBar;
  interrupts: Interrupts;
}

async function measure(
  { settings, url, tenants, bodies }: Prepared,
  { endpoint, bar, interrupts: { stop, leave } }: Measuring,
): Promise<Report> {
  const shown = shownUrl(url);
  const [first] = tenants;
  const body = { ...settings.body };
  if (body.model === undefined && !bodies.haveModels && first)
    body.model = await firstModel(endpoint, first.value, shown);
  const complete = { ...settings, body };
  const startedAt = new Date();
  const result = await runLoad({
    settings: complete,
    endpoint,
    tenants,
    bodies: bodies.next,
    stop,
    leave,
    onBegin: (part) => bar.show(part),
  });
  return reportOf({ settings: complete, url: shown, tenants, startedAt, result });
}

function failUnlessAnswered({ all }: Report): void {
  const { requests, answered } = all;
  if (answered < requests)
    throw new FatalError(`${count(requests - answered)} of ${count(requests)} requests were not answered.`);
}

/** The key when the flags have none. The development key is for a service on this machine alone. */
async function keyOf(url: URL, { env, cwd }: Surroundings): Promise<string | undefined> {
  const named = readVariable(env, 'SLUICE_API_KEY') ?? readVariable(env, 'OPENAI_API_KEY');
  if (named !== undefined || !isLoopback(url)) return named;
  return findDevelopmentKey(serviceSources({}, { env, cwd }));
}

interface Bodies {
  next: NextBody;
  /** Whether each of them names its model. */
  haveModels: boolean;
}

async function bodiesOf({ input, seed }: BenchSettings): Promise<Bodies> {
  switch (input.kind) {
    case 'invented':
      return { next: inventedPrompts(input.tokens, seededRandom(seed, 'prompts')), haveModels: false };
    case 'prompt':
      return { next: samePrompt(input.text), haveModels: false };
    case 'file': {
      const bodies = readBodies(await readText('input', input.path));
      return { next: inTurn(bodies), haveModels: bodies.every((body) => typeof body['model'] === 'string') };
    }
  }
}

/** The text of a file that a flag names; `-` is standard input. */
async function readText(flag: 'keys' | 'input', path: string): Promise<string> {
  if (path === '-') return readAll(process.stdin);
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    if (size > mostInputBytes)
      throw badFlag(flag, `the file has ${count(size)} bytes; ${count(mostInputBytes)} is the most`);
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof FatalError) throw error;
    throw badFlag(flag, `the file cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

interface Interrupts {
  /** Aborted by the first Ctrl-C. */
  stop: AbortSignal;
  /** Aborted by the second one. */
  leave: AbortSignal;
  close(): void;
}

function watchInterrupts(bar: ProgressBar): Interrupts {
  const stop = new AbortController();
  const leave = new AbortController();
  const onSignal = () => {
    // A third one does not even wait for the report, which a full pipe may hold up.
    if (leave.signal.aborted) process.exit(130);
    if (stop.signal.aborted) leave.abort();
    stop.abort();
    bar.stopping();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    stop: stop.signal,
    leave: leave.signal,
    close() {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}

const terminalStyle: Style = {
  title: (text) => styleText('bold', text),
  quiet: (text) => styleText('dim', text),
  bad: (text) => styleText('red', text),
  warn: (text) => styleText('yellow', text),
};
