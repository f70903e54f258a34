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
  full: { services: 2, rounds: 31, roundMs: 700, warmUpMs: 8_000 },
  quick: { services: 1, rounds: 1, roundMs: 400, warmUpMs: 400 },
};

type Plan = (typeof plans)['full'];

/** Callers sample each of their traces; they sample none of them; traces are off. */
type Contestant = 'sampled' | 'not sampled' | 'off';

/** What traces cost a response. */
export const traces: Scenario = {
  name: 'traces',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    const receiver = await startSpanReceiver();
    try {
      const costs: Costs = new Map();
      context.progress.say('traces: what they cost a response');
      // Two processes of the same code differ by up to a tenth, so the service with traces and the one without are started anew.
      for (let service = 0; service < plan.services; service += 1) {
        for (const [name, measured] of await compareCosts(context, plan, receiver)) {
          costs.set(name, [...(costs.get(name) ?? []), ...measured]);
        }
      }
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
      directory,
      profile,
      upstreamUrl,
      redisUrl: redis.url,
      models: [modelName(model)],
      concurrency: slots,
      env,
    });
    services.push(service);
    const worker = await service.startWorker();
    const contestant = (traceparent: string) => () =>
      measureOn(context, worker, service, orderOf(service, traceparent, plan.roundMs));
    for (const traceparent of Object.values(callers))
      await runLoad(context.load, orderOf(service, traceparent, plan.warmUpMs));
    return contestant;
  };
  try {
    const on = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    const off = await start({});
    const contestants = new Map([
      ['sampled', on(callers.sampled)],
      ['not sampled', on(callers.notSampled)],
      ['off', off(callers.notSampled)],
    ] as const);
    return await alternate(contestants, plan.rounds);
  } finally {
    for (const service of services) {
      await service.stop();
      await context.redis.clear(service.keyPrefix);
    }
  }
}

/** `traceparent` of callers who trace for themselves. They decide for the service, whose processes are the same for both. */
const callers = {
  sampled: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  notSampled: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00',
};

function measureOn(
  context: ScenarioContext,
  worker: Child,
  service: BenchService,
  order: LoadOrder,
): Promise<Measurement> {
  const processes = new Map([
    ['api', service.api],
    ['worker', worker],
  ]);
  return measure(order, { load: context.load, redis: context.redis, processes });
}

function orderOf(service: BenchService, traceparent: string, durationMs: number): LoadOrder {
  const target = wholeTarget(service, model);
  return {
    target: { ...target, headers: { ...target.headers, traceparent } },
    concurrency: slots,
    durationMs,
  };
}

const share = (measured: Measurement, name: string) =>
  (measured.cpuMs.get(name) ?? Number.NaN) / measured.completed;
const cpuOf = (measured: Measurement) => roles.slice(1).reduce((sum, role) => sum + share(measured, role), 0);
const rateOf = ({ completed, elapsedMs }: Measurement) => (completed * 1000) / elapsedMs;

function report(costs: Costs, receiver: SpanReceiver): ScenarioReport {
  const off = costs.get('off') ?? [];
  const rates = ratios(costs.get('sampled') ?? [], off, rateOf);
  const lost = rates.map((each) => (1 - each) * 100);
  const goals: Goal[] = [
    {
      what: 'requests/s that sampled traces cost, in %',
      goal: 'at most 5',
      rounds: lost,
      isMet: atMost(5),
    },
    {
      what: 'CPU of a response, sampled to traces off',
      goal: 'at most 1.10',
      rounds: ratios(costs.get('sampled') ?? [], off, cpuOf),
      isMet: atMost(1.1),
    },
    {
      what: 'CPU of a response, not sampled to traces off',
      goal: 'at most 1.02',
      rounds: ratios(costs.get('not sampled') ?? [], off, cpuOf),
      isMet: atMost(1.02),
    },
  ];
  return {
    title: 'Traces',
    description:
      'Synchronous requests of one token, 16 at a time, by callers who send a `traceparent`: a sampled one, one that is not sampled to the ' +
      'same processes, and one to a service without traces. A receiver beside the load takes the spans, four of a sampled response, and ' +
      'does not read them.',
    tables: [goalTable(goals), costTable(costs), spanTable(receiver)],
  };
}

function costTable(costs: Costs): Table {
  return {
    title: 'A synchronous response; CPU in µs',
    columns: ['traces', 'requests/s', ...roles.map((role) => `${role} CPU`), 'all CPU'],
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
