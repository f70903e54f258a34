import type { Child } from '../child-process.ts';
import { atMost, type Goal, goalTable } from '../goals.ts';
import type { LoadOrder } from '../load/order.ts';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { alternate, ratios } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { type BenchService, startService } from '../service.ts';
import { type SpanReceiver, startSpanReceiver } from '../span-receiver.ts';
import { spread } from '../statistics.ts';
import { cpuCells, figure, spreadFigure, type Table } from '../table.ts';
import { wholeTarget } from '../targets.ts';
import { modelName } from '../upstream/no-op-answer.ts';

const slots = 16;
const model = { tokens: 1, intervalMs: 0 };
const roles = ['load', 'api', 'worker', 'redis'];

const plans = {
  full: { rounds: 31, roundMs: 1_000, warmUpMs: 25_000 },
  quick: { rounds: 1, roundMs: 400, warmUpMs: 400 },
};

type Plan = (typeof plans)['full'];

/** Every response is sampled; one in a hundred is; traces are off. */
type Contestant = 'all' | 'one in 100' | 'off';

/** What traces cost a response. */
export const traces: Scenario = {
  name: 'traces',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    const receiver = await startSpanReceiver();
    try {
      const costs = await compareCosts(context, plan, receiver);
      return report(costs, receiver);
    } finally {
      await receiver.close();
    }
  },
};

type Costs = Map<Contestant, Measurement[]>;

async function compareCosts(context: ScenarioContext, plan: Plan, receiver: SpanReceiver): Promise<Costs> {
  const services: BenchService[] = [];
  const start = async (env: Record<string, string>) => {
    const { directory, profile, redis, upstreamUrl } = context;
    const service = await startService({
      ...{ directory, profile, upstreamUrl, redisUrl: redis.url },
      models: [modelName(model)],
      concurrency: slots,
      env,
    });
    services.push(service);
    const worker = await service.startWorker();
    await runLoad(context.load, orderOf(service, plan.warmUpMs));
    return () => measureOn(context, service, worker, plan);
  };
  const on = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
  try {
    const contestants = new Map([
      ['all', await start(on)],
      [
        'one in 100',
        await start({
          ...on,
          OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
          OTEL_TRACES_SAMPLER_ARG: '0.01',
        }),
      ],
      ['off', await start({})],
    ] as const);
    context.progress.say('traces: what they cost a response');
    return await alternate(contestants, plan.rounds);
  } finally {
    for (const service of services) {
      await service.stop();
      await context.redis.clear(service.keyPrefix);
    }
  }
}

function measureOn(
  context: ScenarioContext,
  service: BenchService,
  worker: Child,
  plan: Plan,
): Promise<Measurement> {
  const processes = new Map([
    ['api', service.api],
    ['worker', worker],
  ]);
  return measure(orderOf(service, plan.roundMs), { load: context.load, redis: context.redis, processes });
}

function orderOf(service: BenchService, durationMs: number): LoadOrder {
  return { target: wholeTarget(service, model), concurrency: slots, durationMs };
}

const share = (measured: Measurement, name: string) =>
  (measured.cpuMs.get(name) ?? Number.NaN) / measured.completed;
const cpuOf = (measured: Measurement) => roles.slice(1).reduce((sum, role) => sum + share(measured, role), 0);
const rateOf = ({ completed, elapsedMs }: Measurement) => (completed * 1000) / elapsedMs;

function report(costs: Costs, receiver: SpanReceiver): ScenarioReport {
  const off = costs.get('off') ?? [];
  const rates = ratios(costs.get('all') ?? [], off, rateOf);
  const lost = rates.map((each) => (1 - each) * 100);
  const goals: Goal[] = [
    {
      what: 'requests/s that traces of all responses cost, in %',
      goal: 'at most 5',
      rounds: lost,
      isMet: atMost(5),
    },
    {
      what: 'CPU of a response, with traces of all to none',
      goal: 'at most 1.10',
      rounds: ratios(costs.get('all') ?? [], off, cpuOf),
      isMet: atMost(1.1),
    },
    {
      what: 'CPU of a response, with traces of one in 100 to none',
      goal: 'at most 1.02',
      rounds: ratios(costs.get('one in 100') ?? [], off, cpuOf),
      isMet: atMost(1.02),
    },
  ];
  return {
    title: 'Traces',
    description:
      'Synchronous requests of one token, 16 at a time: with spans of every response, with those of one in a hundred, and with ' +
      'traces off. A receiver beside the load takes the spans, four of a response, and does not read them.',
    tables: [goalTable(goals), costTable(costs), spanTable(receiver)],
  };
}

function costTable(costs: Costs): Table {
  return {
    title: 'A synchronous response; CPU in µs',
    columns: ['traces of', 'requests/s', ...roles.map((role) => `${role} CPU`), 'all CPU'],
    rows: [...costs].map(([name, rounds]) => [
      name,
      spreadFigure(spread(rounds.map(rateOf))),
      ...cpuCells(rounds, roles, ({ completed }) => completed),
    ]),
  };
}

function spanTable(receiver: SpanReceiver): Table {
  return {
    title: 'What the receiver got',
    columns: ['', 'counted'],
    rows: [
      ['exports', figure(receiver.exports())],
      ['MiB', figure(receiver.bytes() / 1024 / 1024)],
    ],
  };
}
