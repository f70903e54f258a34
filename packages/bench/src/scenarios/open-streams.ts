import { setTimeout as pause } from 'node:timers/promises';
import type { LoadOrder, Target } from '../load/order.ts';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { residentBytes } from '../memory.ts';
import { onService } from '../on-service.ts';
import { alternate, ratios } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { type BenchService, processesOf } from '../service.ts';
import { median, spread, sum } from '../statistics.ts';
import { cpuCells, figure, spreadFigure } from '../table.ts';
import { directTarget, streamTarget } from '../targets.ts';

const roles = ['load', 'api', 'worker', 'redis', 'upstream'];

const plans = {
  full: { model: { tokens: 100, intervalMs: 100 }, streams: [500, 5_000], rounds: 2, openingMs: 5_000 },
  quick: { model: { tokens: 10, intervalMs: 100 }, streams: [20, 200], rounds: 1, openingMs: 500 },
};

/** The longest time in which streams may begin, those included that are refused at first. Each begins once. */
const mostMs = 75_000;

type Plan = (typeof plans)['full'];

interface Round extends Measurement {
  /** Memory while all streams are open, in bytes, by the role. */
  memory: ReadonlyMap<string, number>;
}

/** As many streams as a busy service has open, at the pace of a slow model. */
export const openStreams: Scenario = {
  name: 'open-streams',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    const own = { models: [plan.model], concurrency: Math.max(...plan.streams) };
    return onService(context, own, async (service) => report(await compete(context, service, plan), plan));
  },
};

/** One way to the tokens, and how many streams go it at once. */
interface Way {
  name: 'direct' | 'sluice';
  streams: number;
}

async function compete(
  context: ScenarioContext,
  service: BenchService,
  { model, streams, rounds, openingMs }: Plan,
): Promise<Map<Way, Round[]>> {
  const { load, redis, upstream, upstreamUrl, progress } = context;
  const worker = await service.startWorker();
  const ways: [Way['name'], Target, ReadonlyMap<string, { pid: number }>][] = [
    ['direct', directTarget(upstreamUrl, model), new Map([['upstream', upstream]])],
    ['sluice', streamTarget(service, model), processesOf(service, worker, upstream)],
  ];
  const runs = new Map<Way, () => Promise<Round>>();
  for (const count of streams) {
    for (const [name, target, processes] of ways) {
      const order: LoadOrder = {
        target,
        concurrency: count,
        count,
        durationMs: mostMs,
        staggerMs: openingMs,
        retryMs: 1_000,
      };
      progress.say(`open streams: warming up ${count}, ${name}`);
      await runLoad(load, order);
      runs.set({ name, streams: count }, async () => {
        progress.say(`open streams: ${count}, ${name}`);
        const measured = measure(order, { load, redis: name === 'direct' ? undefined : redis, processes });
        const [round, memory] = await Promise.all([measured, memoryAfter(1.2 * openingMs, processes)]);
        return { ...round, memory };
      });
    }
  }
  return alternate(runs, rounds);
}

async function memoryAfter(
  waitMs: number,
  processes: ReadonlyMap<string, { pid: number }>,
): Promise<Map<string, number>> {
  await pause(waitMs);
  return new Map([...processes].map(([role, process]) => [role, residentBytes(process)]));
}

function report(results: ReadonlyMap<Way, Round[]>, { model, streams, openingMs }: Plan): ScenarioReport {
  const direct = (way: Way) =>
    [...results].find(([{ name, streams: count }]) => name === 'direct' && count === way.streams)?.[1] ?? [];
  const of = (rounds: readonly Round[], figureOf: (round: Round) => number) =>
    spreadFigure(spread(rounds.map(figureOf)));
  const megabytes = (rounds: readonly Round[], role: string) =>
    figure(median(rounds.map(({ memory }) => (memory.get(role) ?? Number.NaN) / 1e6)));
  return {
    title: 'Many open streams',
    description:
      `${streams.map((count) => count.toLocaleString('en-US')).join(' and ')} streams of ${model.tokens} tokens, ${1_000 / model.intervalMs} a second each, opened over ${openingMs / 1_000} s and then all open at once: from the upstream itself, and through one api and one ` +
      'worker. A first round of each warms everything up and does not count. The upstream writes every token by itself, and the load generator reads every one, so the table shows what they leave of the machine as well: ' +
      'tokens come late where it has no more, and a stream that is refused with 503 begins again a second later.',
    tables: [
      {
        title: 'CPU in µs a token',
        columns: [
          '',
          'refused',
          'tokens/s',
          'to direct',
          'first token p50 ms',
          'first token p99 ms',
          'between tokens p50 ms',
          'between tokens p99 ms',
          ...roles.map((role) => `${role} CPU`),
          'all CPU',
          'api MB',
          'worker MB',
        ],
        rows: [...results].map(([way, rounds]) => [
          `${way.streams.toLocaleString('en-US')}, ${way.name}`,
          String(sum(rounds.map(({ refused }) => refused))),
          of(rounds, rate),
          spreadFigure(spread(ratios(rounds, direct(way), rate))),
          of(rounds, ({ firstMarkMs }) => firstMarkMs.p50),
          figure(median(rounds.map(({ firstMarkMs }) => firstMarkMs.p99))),
          figure(median(rounds.map(({ gapMs }) => gapMs.p50))),
          of(rounds, ({ gapMs }) => gapMs.p99),
          ...cpuCells(rounds, roles, ({ marks }) => marks),
          ...['api', 'worker'].map((role) => megabytes(rounds, role)),
        ]),
      },
    ],
  };
}

function rate({ marks, elapsedMs }: Measurement): number {
  return (marks * 1_000) / elapsedMs;
}
