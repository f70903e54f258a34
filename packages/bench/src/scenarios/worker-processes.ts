import { type CpuTimes, cpuBetween, readCpuTimes } from '../cpu-times.ts';
import { atLeast, type Goal, goalTable } from '../goals.ts';
import { renderPlot } from '../plot/plot.ts';
import { alternate, ratios } from '../rounds.ts';
import type { Picture, Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import type { BenchService } from '../service.ts';
import { onStage, type Stage } from '../stage.ts';
import { median, spread } from '../statistics.ts';
import { figure, spreadFigure, type Table } from '../table.ts';
import { pacedFlow } from '../traffic/flows.ts';
import { type Arrival, pacedModelName } from '../upstream/paced-model.ts';
import { until } from '../until.ts';

const model = { serviceMs: 500, slots: 0, tokens: 1 };

/** Of each worker process. */
const slots = 16;

/** How many requests the model runs at a time: fewer than eight workers would. */
const limit = 96;

/**
 * How much faster requests come than the slots can serve them, so that there is always one waiting. A burst would fill all
 * slots at once: they would then be released together, turn after turn, which nothing but a test does.
 */
const pressure = 1.2;

/** How many requests each slot has. The last turn is not counted. */
const plans = {
  full: { rounds: 3, counts: [1, 2, 4, 8], turns: 10 },
  quick: { rounds: 1, counts: [1, 2], turns: 6 },
};

/** Turns before the rate is measured: the code of a new process is slow at first. */
const leadTurns = 3;

interface Round {
  perSecond: number;
  cpuMs: CpuTimes;
  elapsedMs: number;
}

/** What another worker process is worth when the upstream takes its time. */
export const workerProcesses: Scenario = {
  name: 'worker-processes',
  budgetMs: 180_000,
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const { rounds, counts, turns } = context.quick ? plans.quick : plans.full;
    return onStage(context, async (stage) => {
      const service = await stage.start({
        models: [pacedModelName(model)],
        concurrency: slots,
        modelConcurrency: limit,
      });
      const run = (count: number) => () => {
        context.progress.say(`worker processes: ${count}`);
        return drain(context, stage, service, { count, turns });
      };
      const runs = new Map(counts.map((count) => [String(count), run(count)]));
      return report(await alternate(runs, rounds));
    });
  },
};

async function drain(
  { redis, deadline }: ScenarioContext,
  { upstream, traffic }: Stage,
  service: BenchService,
  { count, turns }: { count: number; turns: number },
): Promise<Round> {
  await upstream.forget();
  const workers = await Promise.all(Array.from({ length: count }, () => service.startWorker()));
  const processes = new Map([
    ['load', [traffic.child]],
    ['api', [service.api]],
    ['worker', workers],
    ['upstream', [upstream.child]],
  ]);
  const before = await readCpuTimes(processes, redis);
  const startedAt = performance.now();
  const running = slotsOf(count);
  const requests = running * turns;
  const lastsMs = deadline - performance.now();
  const everyMs = model.serviceMs / (running * pressure);
  await traffic.fill(
    pacedFlow(service, { name: 'work', tenant: 'bench', model, everyMs, count: requests, lastsMs }),
  );
  await until('every request has ended', async () => (await upstream.count()).ended >= requests, deadline);
  const cpuMs = cpuBetween(before, await readCpuTimes(processes, redis));
  const elapsedMs = performance.now() - startedAt;
  const log = await upstream.log();
  await Promise.all(workers.map((worker) => worker.stop()));
  return { perSecond: steadyRate(log, running), cpuMs, elapsedMs };
}

/** How many requests so many workers run at a time. */
function slotsOf(workers: number): number {
  return Math.min(workers * slots, limit);
}

/**
 * The ends in a second, without the first turns of the slots and without the last. Slots that began together end together,
 * so what is counted begins and ends with the first end of a turn.
 */
export function steadyRate(log: readonly Arrival[], running: number): number {
  const ends = log.flatMap(({ endedAt }) => endedAt ?? []).toSorted((a, b) => a - b);
  const [first, last] = [running * leadTurns, ends.length - running];
  const elapsed = (ends[last] ?? Number.NaN) - (ends[first] ?? Number.NaN);
  return ((last - first) * 1000) / elapsed;
}

type Results = ReadonlyMap<string, readonly Round[]>;

const least = 0.95;

/** The rate in each round against that of one worker, times the slots that there are. */
function proportions(results: Results, count: string): number[] {
  const factor = slotsOf(Number(count)) / slots;
  const one = results.get('1') ?? [];
  return ratios(results.get(count) ?? [], one, ({ perSecond }) => perSecond).map((ratio) => ratio / factor);
}

function report(results: Results): ScenarioReport {
  return {
    title: 'Worker processes',
    description:
      `Background responses from an upstream that takes ${model.serviceMs} ms for each. Each worker process has ${slots} ` +
      `slots, and the model is limited to ${limit} requests at a time. Requests come ${pressure} times as fast as the slots can ` +
      'serve them. A rate is measured while every slot is busy. ' +
      'Proportional is the rate of one worker in the same round, times the slots that there are, up to the limit of the model.',
    tables: [
      goalTable(
        [...results.keys()]
          .filter((count) => count !== '1')
          .map(
            (count): Goal => ({
              what: `${count} workers, to proportional (${slotsOf(Number(count))} slots)`,
              goal: `at least ${least}`,
              rounds: proportions(results, count),
              isMet: atLeast(least),
            }),
          ),
      ),
      rateTable(results),
    ],
    pictures: [picture(results)],
  };
}

function rateTable(results: Results): Table {
  const roles = ['load', 'api', 'worker', 'redis', 'upstream'];
  const cores = (rounds: readonly Round[], role: string) =>
    figure(median(rounds.map(({ cpuMs, elapsedMs }) => (cpuMs.get(role) ?? Number.NaN) / elapsedMs)));
  return {
    title: 'Responses a second; CPU in cores, accepting included, all workers together',
    columns: ['workers', 'a second', 'slots / service time', ...roles.map((role) => `${role} CPU`)],
    rows: [...results].map(([count, rounds]) => [
      count,
      spreadFigure(spread(rounds.map(({ perSecond }) => perSecond))),
      figure((slotsOf(Number(count)) * 1000) / model.serviceMs),
      ...roles.map((role) => cores(rounds, role)),
    ]),
  };
}

function picture(results: Results): Picture {
  const title = 'Throughput by worker processes';
  const one = median((results.get('1') ?? []).map(({ perSecond }) => perSecond));
  const counts = [...results.keys()].map(Number);
  return {
    file: 'worker-processes.svg',
    alt: title,
    svg: renderPlot({
      title,
      xLabel: 'worker processes',
      yLabel: 'responses a second',
      series: [
        {
          name: 'measured',
          style: 'line',
          points: counts.map((count) => [
            count,
            median((results.get(String(count)) ?? []).map(({ perSecond }) => perSecond)),
          ]),
        },
        {
          name: 'proportional, up to the limit of the model',
          style: 'goal',
          points: [0, ...counts, limit / slots]
            .toSorted((a, b) => a - b)
            .map((count) => [count, (one * slotsOf(count)) / slots]),
        },
      ],
    }),
  };
}
