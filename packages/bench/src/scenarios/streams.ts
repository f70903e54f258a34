import type { LoadOrder, Target } from '../load/order.ts';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { alternate, ratios } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { startService, type BenchService } from '../service.ts';
import { median, spread } from '../statistics.ts';
import { cpuCells, figure, spreadFigure, type Table } from '../table.ts';
import { directTarget, streamTarget } from '../targets.ts';
import { modelName, type NoOpModel } from '../upstream/no-op-answer.ts';

const slots = 64;
const roles = ['load', 'api', 'worker', 'redis', 'upstream'];

/** One way to load the service with streams. */
interface StreamLoad {
  title: string;
  model: NoOpModel;
  concurrency: number;
  staggerMs: number;
  full: { rounds: number; roundMs: number };
  quick: { rounds: number; roundMs: number };
}

const loads = {
  one: {
    title: 'One stream at a time, one token',
    model: { tokens: 1, intervalMs: 0 },
    concurrency: 1,
    staggerMs: 0,
    full: { rounds: 9, roundMs: 1_000 },
    quick: { rounds: 3, roundMs: 500 },
  },
  paced: {
    title: `${slots} streams of 200 tokens, 50 tokens/s each`,
    model: { tokens: 200, intervalMs: 20 },
    concurrency: slots,
    // One stream takes four seconds: they begin spread over one, as those of different users would.
    staggerMs: 4_000,
    full: { rounds: 3, roundMs: 8_000 },
    quick: { rounds: 1, roundMs: 2_000 },
  },
  unpaced: {
    title: `${slots} streams of 200 tokens, as fast as they go`,
    model: { tokens: 200, intervalMs: 0 },
    concurrency: slots,
    staggerMs: 0,
    full: { rounds: 5, roundMs: 3_000 },
    quick: { rounds: 2, roundMs: 1_000 },
  },
} satisfies Record<string, StreamLoad>;

type Alternative = 'direct' | 'sluice';

/** Streams: how many events go through, and how long the first token takes. */
export const streams: Scenario = {
  name: 'streams',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const service = await startService({
      ...context,
      redisUrl: context.redis.url,
      models: Object.values(loads).map(({ model }) => modelName(model)),
      concurrency: slots,
    });
    try {
      const processes = new Map([
        ['api', service.api],
        ['worker', await service.startWorker()],
        ['upstream', context.upstream],
      ]);
      const direct = new Map([['upstream', context.upstream]]);
      const runs = async (load: StreamLoad) => {
        const targets = targetsOf(load, context, service);
        const { rounds, roundMs } = context.quick ? load.quick : load.full;
        const order = (target: Target): LoadOrder => ({
          target,
          concurrency: load.concurrency,
          staggerMs: load.staggerMs,
          durationMs: roundMs,
        });
        for (const target of Object.values(targets)) {
          context.progress.say(`streams: warming up: ${load.title}`);
          await runLoad(context.load, { ...order(target), staggerMs: 0, durationMs: roundMs / 2 });
        }
        const run = (name: Alternative) => () => {
          context.progress.say(`streams: ${name}: ${load.title}`);
          return measure(order(targets[name]), {
            load: context.load,
            redis: name === 'sluice' ? context.redis : undefined,
            processes: name === 'sluice' ? processes : direct,
          });
        };
        return alternate<Alternative, Measurement>(
          new Map([
            ['direct', run('direct')],
            ['sluice', run('sluice')],
          ]),
          rounds,
        );
      };
      const tables: Table[] = [];
      for (const load of Object.values(loads)) tables.push(...tablesOf(load, await runs(load)));
      return { title: 'Streams', description, tables };
    } finally {
      await service.stop();
      await context.redis.clear(service.keyPrefix);
    }
  },
};

const description =
  'Streamed answers, from the same upstream called directly and through Sluice (one api, one worker). The upstream ' +
  'writes every token by itself. A token is one `response.output_text.delta` event, which is in the log before it is ' +
  'sent. The first token is timed from sending the request to reading its event.';

function targetsOf(
  load: StreamLoad,
  context: ScenarioContext,
  service: BenchService,
): Record<Alternative, Target> {
  return {
    direct: directTarget(context.upstreamUrl, load.model),
    sluice: streamTarget(service, load.model),
  };
}

function tablesOf(load: StreamLoad, results: Map<Alternative, Measurement[]>): Table[] {
  const direct = results.get('direct') ?? [];
  const sluice = results.get('sluice') ?? [];
  const overMs = sluice.map(
    (round, at) => round.firstMarkMs.p50 - (direct[at]?.firstMarkMs.p50 ?? Number.NaN),
  );
  return [
    {
      title: `${load.title}; CPU in µs a token`,
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
      title: 'Sluice against direct, compared within each round',
      columns: ['first token p50 later by ms', 'tokens/s'],
      rows: [[spreadFigure(spread(overMs)), spreadFigure(spread(ratios(sluice, direct, rate)))]],
    },
  ];
}

function rate({ marks, elapsedMs }: Measurement): number {
  return (marks * 1000) / elapsedMs;
}
