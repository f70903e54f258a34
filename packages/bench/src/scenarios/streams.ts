import type { Child } from '../child-process.ts';
import { type Cost, costToBareJob } from '../guard.ts';
import type { LoadOrder, Target } from '../load/order.ts';
import { type Pattern, startPattern } from '../pattern.ts';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { alternate, ratios } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { startService, type BenchService } from '../service.ts';
import { median, spread } from '../statistics.ts';
import { cpuCells, figure, spreadFigure, type Table } from '../table.ts';
import { directTarget, relayTarget, streamTarget } from '../targets.ts';
import { modelName, type NoOpModel } from '../upstream/no-op-answer.ts';

const slots = 64;
const roles = ['load', 'api', 'worker', 'redis', 'upstream'];

/** One way to load the service with streams. */
interface StreamLoad {
  model: NoOpModel;
  concurrency: number;
  /** The streams start spread over this time, as those of different users do. */
  staggerMs: number;
  rounds: number;
  roundMs: number;
}

const one = { tokens: 1, intervalMs: 0 };
const unpaced = { tokens: 200, intervalMs: 0 };

/** A paced stream takes four seconds in a full run, and one second in a quick one. */
const plans: Record<'full' | 'quick', readonly StreamLoad[]> = {
  full: [
    { model: one, concurrency: 1, staggerMs: 0, rounds: 9, roundMs: 1_000 },
    {
      model: { tokens: 200, intervalMs: 20 },
      concurrency: slots,
      staggerMs: 4_000,
      rounds: 3,
      roundMs: 6_000,
    },
    { model: unpaced, concurrency: slots, staggerMs: 0, rounds: 5, roundMs: 3_000 },
  ],
  quick: [
    { model: one, concurrency: 1, staggerMs: 0, rounds: 3, roundMs: 300 },
    { model: { tokens: 50, intervalMs: 20 }, concurrency: slots, staggerMs: 500, rounds: 1, roundMs: 1_000 },
    { model: unpaced, concurrency: slots, staggerMs: 0, rounds: 2, roundMs: 500 },
  ],
};

type Alternative = 'direct' | 'bare job' | 'sluice';

/** Streams: how many events go through, and how long the first token takes. */
export const streams: Scenario = {
  name: 'streams',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    const service = await startService({
      ...context,
      redisUrl: context.redis.url,
      models: plan.map(({ model }) => modelName(model)),
      concurrency: slots,
    });
    let bare: Pattern | undefined;
    try {
      const worker = await service.startWorker();
      bare = await startPattern('bare-job', slots, context);
      const tables: Table[] = [];
      const costs: Cost[] = [];
      for (const load of plan) {
        const results = await compete(context, { service, worker, bare }, load);
        tables.push(...tablesOf(load, results));
        costs.push(
          costToBareJob(
            `a token; ${titleOf(load.model, load.concurrency).toLowerCase()}`,
            { sluice: results.get('sluice') ?? [], bareJob: results.get('bare job') ?? [] },
            ({ marks }) => marks,
          ),
        );
      }
      return { title: 'Streams', description, tables, costs };
    } finally {
      await Promise.all([service.stop(), bare?.stop()]);
      await context.redis.clear(service.keyPrefix);
      if (bare) await context.redis.clear(bare.prefix);
    }
  },
};

const description =
  'Streamed answers, from the same upstream called directly, through a bare BullMQ job whose worker publishes the bytes ' +
  'as they come and keeps nothing, and through Sluice (one api and one worker each). The bare job is the least that ' +
  'any way through a queue and pub/sub can take. The upstream ' +
  'writes every token by itself. A token is one `response.output_text.delta` event, which is in the log before it is ' +
  'sent. The first token is timed from sending the request to reading its event.';

type Results = Map<Alternative, Measurement[]>;

function compete(
  context: ScenarioContext,
  { service, worker, bare }: { service: BenchService; worker: Child; bare: Pattern },
  { model, concurrency, staggerMs, rounds, roundMs }: StreamLoad,
): Promise<Results> {
  const { load, redis, upstream, progress } = context;
  const run = (name: Alternative, target: Target, queue?: { api: Child; worker: Child }) => {
    const processes = new Map([
      ...(queue ? [['api', queue.api] as const, ['worker', queue.worker] as const] : []),
      ['upstream', upstream] as const,
    ]);
    const order: LoadOrder = { target, concurrency, staggerMs, durationMs: roundMs };
    let isWarm = false;
    return async () => {
      progress.say(`streams: ${name}: ${titleOf(model, concurrency)}`);
      if (!isWarm) await runLoad(load, { ...order, staggerMs: 0, durationMs: roundMs / 2 });
      isWarm = true;
      return measure(order, { load, redis: queue ? redis : undefined, processes });
    };
  };
  return alternate(
    new Map<Alternative, () => Promise<Measurement>>([
      ['direct', run('direct', directTarget(context.upstreamUrl, model))],
      ['bare job', run('bare job', relayTarget(String(bare.api.ready['url']), model), bare)],
      ['sluice', run('sluice', streamTarget(service, model), { api: service.api, worker })],
    ]),
    rounds,
  );
}

function titleOf({ tokens, intervalMs }: NoOpModel, concurrency: number): string {
  if (tokens === 1) return 'One stream of one token at a time';
  const pace = intervalMs === 0 ? 'as fast as they go' : `${1000 / intervalMs} tokens/s each`;
  return `${concurrency} streams of ${tokens} tokens, ${pace}`;
}

function tablesOf({ model, concurrency }: StreamLoad, results: Results): Table[] {
  const direct = results.get('direct') ?? [];
  const rivals = [...results].filter(([name]) => name !== 'direct');
  const laterMs = (rounds: readonly Measurement[]) =>
    rounds.map((round, at) => round.firstMarkMs.p50 - (direct[at]?.firstMarkMs.p50 ?? Number.NaN));
  return [
    {
      title: `${titleOf(model, concurrency)}; CPU in µs a token`,
      columns: [
        '',
        'tokens/s',
        'first token p50 ms',
        'first token p99 ms',
        ...roles.map((role) => `${role} CPU`),
        'all CPU',
      ],
      rows: [...results].map(([name, rounds]) => [
        name,
        spreadFigure(spread(rounds.map(rate))),
        spreadFigure(spread(rounds.map(({ firstMarkMs }) => firstMarkMs.p50))),
        figure(median(rounds.map(({ firstMarkMs }) => firstMarkMs.p99))),
        ...cpuCells(rounds, roles, ({ marks }) => marks),
      ]),
    },
    {
      title: 'Against direct, compared within each round',
      columns: ['', 'first token p50 later by ms', 'tokens/s'],
      rows: rivals.map(([name, rounds]) => [
        name,
        spreadFigure(spread(laterMs(rounds))),
        spreadFigure(spread(ratios(rounds, direct, rate))),
      ]),
    },
  ];
}

function rate({ marks, elapsedMs }: Measurement): number {
  return (marks * 1000) / elapsedMs;
}
