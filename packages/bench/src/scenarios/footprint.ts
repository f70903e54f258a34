import { setTimeout as pause } from 'node:timers/promises';
import { callsBetween } from '../bench-redis.ts';
import type { Child } from '../child-process.ts';
import { cpuBetween, type CpuTimes, readCpuTimes } from '../cpu-times.ts';
import { atLeast, atMost, type Goal, goalTable } from '../goals.ts';
import { runLoad } from '../measure.ts';
import { residentBytes } from '../memory.ts';
import { alternate } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { type BenchService, startService } from '../service.ts';
import { spread, sum } from '../statistics.ts';
import { figure, spreadFigure, type Table } from '../table.ts';
import { streamTarget } from '../targets.ts';
import { timeToAnswer } from '../time-to-answer.ts';
import { modelName } from '../upstream/no-op-answer.ts';

/** A stream that is there and says nothing: a token, and long after that another. */
const silent = { tokens: 2, intervalMs: 45_000 };
const brisk = { tokens: 2, intervalMs: 0 };

/** `idleMs` is how long a process has had nothing to do when it counts as idle: V8 reduces its heap some ten seconds after the start. */
const plans = {
  full: { starts: 5, idleMs: 30_000, settleMs: 5_000, streams: 10_000, openingMs: 25_000, watchMs: 12_000 },
  quick: { starts: 1, idleMs: 500, settleMs: 500, streams: 100, openingMs: 1_000, watchMs: 1_000 },
};

type Plan = (typeof plans)['full'];

const startCommands = new Map([
  ['npm start', ['npm', 'start', '--silent']],
  ['from its sources', [process.execPath, '--conditions=sluice-source', 'apps/sluice/src/main.ts', 'start']],
] as const);

/** What a service costs that does nothing: its start, its processes, and streams on which nothing happens. */
export const footprint: Scenario = {
  name: 'footprint',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    const starts = await startOften(context, plan);
    const service = await startService({
      directory: context.directory,
      profile: context.profile,
      redisUrl: context.redis.url,
      upstreamUrl: context.upstreamUrl,
      models: [modelName(silent), modelName(brisk)],
      concurrency: plan.streams,
    });
    try {
      const idleApi = await idle(service.api, plan);
      const worker = await service.startWorker();
      const idleWorker = await idle(worker, plan);
      return report(plan, starts, {
        idleApi,
        idleWorker,
        ...(await openMany(context, service, worker, plan)),
      });
    } finally {
      await service.stop();
      await context.redis.clear(service.keyPrefix);
    }
  },
};

/** How long each start took, in milliseconds. */
type Starts = Map<string, number[]>;

async function startOften({ directory, progress }: ScenarioContext, plan: Plan): Promise<Starts> {
  progress.say('footprint: starting');
  // The first one may have to bundle, and keeps what is compiled.
  for (const command of startCommands.values()) await timeToAnswer(command, directory);
  const contestants = new Map(
    [...startCommands].map(([name, command]) => [name, () => timeToAnswer(command, directory)]),
  );
  return alternate(contestants, plan.starts);
}

async function idle(child: Child, { idleMs }: Plan): Promise<number> {
  await pause(idleMs);
  return residentBytes(child);
}

interface Silence {
  /** Resident memory of each role, in bytes: before any stream was open, and while all are. */
  before: Map<string, number>;
  during: Map<string, number>;
  /** CPU time of a while in which all were open and silent. */
  cpuMs: CpuTimes;
  commands: number;
  elapsedMs: number;
}

interface Footprint extends Silence {
  idleApi: number;
  idleWorker: number;
}

async function openMany(
  { load, redis, progress }: ScenarioContext,
  service: BenchService,
  worker: Child,
  plan: Plan,
): Promise<Silence> {
  const processes = new Map([
    ['api', service.api],
    ['worker', worker],
  ]);
  const memory = () => new Map([...processes].map(([role, child]) => [role, residentBytes(child)]));
  await runLoad(load, { target: streamTarget(service, brisk), concurrency: 64, durationMs: 2_000 });
  await pause(plan.settleMs);
  const before = memory();
  progress.say(`footprint: opening ${plan.streams} streams`);
  const running = runLoad(load, {
    target: streamTarget(service, silent),
    concurrency: plan.streams,
    count: plan.streams,
    durationMs: plan.openingMs + 2 * silent.intervalMs,
    staggerMs: plan.openingMs,
  });
  // It is awaited below. Should opening fail, that is told first.
  running.catch(() => undefined);
  await pause(plan.openingMs + 2_000);
  const since = performance.now();
  const cpuBefore = await readCpuTimes(processes, redis);
  const callsBefore = await redis.commandCalls();
  await pause(plan.watchMs);
  const calls = callsBetween(callsBefore, await redis.commandCalls());
  const cpuMs = cpuBetween(cpuBefore, await readCpuTimes(processes, redis));
  const elapsedMs = performance.now() - since;
  const during = memory();
  await running;
  return { before, during, cpuMs, commands: sum([...calls.values()]), elapsedMs };
}

function report(plan: Plan, starts: Starts, measured: Footprint): ScenarioReport {
  const { before, during } = measured;
  const perStream = (role: string) =>
    ((during.get(role) ?? Number.NaN) - (before.get(role) ?? Number.NaN)) / plan.streams / 1_000;
  const goals: Goal[] = [
    {
      what: '`npm start` to the first answer, ms',
      goal: 'at most 2,000',
      rounds: starts.get('npm start') ?? [],
      isMet: atMost(2_000),
    },
    { what: 'an idle api, MB', goal: 'at most 140', rounds: [measured.idleApi / 1e6], isMet: atMost(140) },
    {
      what: 'open, silent streams for a GB of api and worker together',
      goal: 'at least 12,000',
      rounds: [1e6 / (perStream('api') + perStream('worker'))],
      isMet: atLeast(12_000),
    },
  ];
  return {
    title: 'Start and footprint',
    description:
      'A start is timed from the command to the whole answer to a first request, with a store of its own on an empty folder. ' +
      `Then ${plan.streams.toLocaleString('en-US')} streams are open at once, on one api and one worker, and after a first token nothing happens on ` +
      'them until they end as they should. Memory is what a process holds in RAM; that of an idle one is read half a minute after its start, and some 56 MB of it are the program of ' +
      'Node.js itself, which processes share.',
    tables: [
      goalTable(goals),
      startTable(starts),
      processTable(measured, perStream),
      silenceTable(plan, measured),
    ],
  };
}

function startTable(starts: Starts): Table {
  return {
    title: 'To the first answer',
    columns: ['', 'ms'],
    rows: [...starts].map(([name, rounds]) => [name, spreadFigure(spread(rounds))]),
  };
}

function processTable(
  { idleApi, idleWorker, before, during }: Footprint,
  perStream: (role: string) => number,
): Table {
  const row = (role: string, fresh: number) => [
    role,
    ...[fresh, before.get(role), during.get(role)].map((bytes = Number.NaN) => figure(bytes / 1e6)),
    figure(perStream(role)),
  ];
  return {
    title: 'Memory of a process, MB',
    columns: ['', 'idle', 'after some load', 'with all streams open', 'a stream, kB'],
    rows: [row('api', idleApi), row('worker', idleWorker)],
  };
}

function silenceTable({ streams }: Plan, { cpuMs, commands, elapsedMs }: Silence): Table {
  const perSecond = (amount: number) => (amount * 1_000) / elapsedMs / streams;
  const cpu = (role: string) => figure(perSecond((cpuMs.get(role) ?? Number.NaN) * 1_000));
  return {
    title: 'An open, silent stream, each second',
    columns: ['', 'api CPU µs', 'worker CPU µs', 'redis CPU µs', 'Redis commands'],
    rows: [['a stream', cpu('api'), cpu('worker'), cpu('redis'), figure(perSecond(commands))]],
  };
}
