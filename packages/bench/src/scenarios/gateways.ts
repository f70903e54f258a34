import type { Child } from '../child-process.ts';
import type { Gateway } from '../gateways/gateway.ts';
import { knownGateways } from '../gateways/known-gateways.ts';
import { type RunningGateway, startGateway } from '../gateways/start-gateway.ts';
import { installChosen } from '../installs.ts';
import type { LoadOrder, Target } from '../load/order.ts';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { alternate, ratios } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { startService } from '../service.ts';
import { median, spread } from '../statistics.ts';
import { cpuCells, figure, spreadFigure, type Table } from '../table.ts';
import { directTarget, streamTarget, wholeTarget } from '../targets.ts';
import { modelName, type NoOpModel } from '../upstream/no-op-answer.ts';

const slots = 64;
const roles = ['load', 'gateway', 'api', 'worker', 'redis', 'upstream'];
const oneToken = { tokens: 1, intervalMs: 0 };
const unpaced = { tokens: 200, intervalMs: 0 };

interface GatewayLoad {
  title: string;
  model: NoOpModel;
  concurrency: number;
  /** What is asked of Sluice. Gateways and the upstream are asked for a stream each time. */
  isWhole: boolean;
}

const loads: readonly GatewayLoad[] = [
  ...[1, 16, 64].map((concurrency) => ({
    title: `Answers of one token, ${concurrency} at a time; CPU in µs a request`,
    model: oneToken,
    concurrency,
    isWhole: true,
  })),
  {
    title: 'Streams of 200 tokens, 64 at a time; CPU in µs a stream',
    model: unpaced,
    concurrency: slots,
    isWhole: false,
  },
];

const plans = {
  full: { rounds: 5, roundMs: 1_500, warmUpMs: 2_000 },
  quick: { rounds: 1, roundMs: 400, warmUpMs: 400 },
};

interface Contestant {
  name: string;
  target: (load: GatewayLoad) => Target;
  usesRedis: boolean;
  processes: ReadonlyMap<string, Pick<Child, 'pid'>>;
}

/** Gateways that people know, beside Sluice. Runs when it is asked for, because they are installed for it. */
export const gateways: Scenario = {
  name: 'gateways',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const { progress, upstreamUrl } = context;
    const chosen = await installChosen(knownGateways, context);
    const models = [oneToken, unpaced];
    const service = await startService({
      ...context,
      redisUrl: context.redis.url,
      models: models.map(modelName),
      concurrency: slots,
    });
    const running: RunningGateway[] = [];
    try {
      const worker = await service.startWorker();
      const upstream = ['upstream', context.upstream] as const;
      const contestants: Contestant[] = [
        {
          name: 'direct',
          target: ({ model }) => directTarget(upstreamUrl, model),
          usesRedis: false,
          processes: new Map([upstream]),
        },
      ];
      for (const gateway of chosen) {
        progress.say(`gateways: starting ${gateway.name}`);
        const started = await startGateway(gateway, { upstreamUrl, models });
        running.push(started);
        contestants.push({
          name: gateway.name,
          target: ({ model }) => started.target(model),
          usesRedis: false,
          processes: new Map<string, Pick<Child, 'pid'>>([['gateway', started], upstream]),
        });
      }
      contestants.push({
        name: 'sluice',
        target: ({ model, isWhole }) =>
          isWhole ? wholeTarget(service, model) : streamTarget(service, model),
        usesRedis: true,
        processes: new Map([['api', service.api], ['worker', worker], upstream]),
      });
      const tables: Table[] = [];
      for (const load of loads) tables.push(...(await compete(context, contestants, load)));
      return { title: 'Gateways', description: descriptionOf(chosen), tables };
    } finally {
      await Promise.all([...running.map((gateway) => gateway.stop()), service.stop()]);
      await context.redis.clear(service.keyPrefix);
    }
  },
};

function descriptionOf(chosen: readonly Gateway[]): string {
  const releases = chosen.map(({ name, version }) => `${name} ${version}`).join(' and ');
  return (
    `Sluice beside gateways that pass a request on, ${releases}, in front of the same upstream. A gateway keeps nothing: it has no queue, ` +
    'what is under way is lost with its process, and a stream that broke off cannot be read again. Sluice writes every response and every ' +
    'token to Redis before it is sent. So this does not say which is faster at the same work: it says what keeping costs beside what people ' +
    'run today. Each gateway is one process with its defaults; Sluice is an api, a worker and Redis. The upstream can only stream, so gateways ' +
    'are asked for streams, also of one token, where Sluice is asked for a whole answer.'
  );
}

async function compete(
  { load: generator, redis, quick, progress }: ScenarioContext,
  contestants: readonly Contestant[],
  load: GatewayLoad,
): Promise<Table[]> {
  const { rounds, roundMs, warmUpMs } = quick ? plans.quick : plans.full;
  const runs = new Map<string, () => Promise<Measurement>>();
  for (const { name, target, usesRedis, processes } of contestants) {
    const order: LoadOrder = { target: target(load), concurrency: load.concurrency, durationMs: roundMs };
    progress.say(`gateways: warming up ${name}`);
    await runLoad(generator, { ...order, durationMs: warmUpMs });
    runs.set(name, () => {
      progress.say(`gateways: ${name}, ${load.concurrency} at a time`);
      return measure(order, { load: generator, redis: usesRedis ? redis : undefined, processes });
    });
  }
  const results = await alternate(runs, rounds);
  return [resultTable(load, results), ratioTable(results)];
}

function rate({ completed, elapsedMs }: Measurement): number {
  return (completed * 1000) / elapsedMs;
}

function resultTable({ title }: GatewayLoad, results: ReadonlyMap<string, Measurement[]>): Table {
  return {
    title,
    columns: ['', 'a second', 'first token p50 ms', 'p50 ms', 'p99 ms', ...roles, 'all CPU'],
    rows: [...results].map(([name, rounds]) => [
      name,
      spreadFigure(spread(rounds.map(rate))),
      figure(median(rounds.map(({ firstMarkMs }) => firstMarkMs.p50))),
      figure(median(rounds.map(({ latencyMs }) => latencyMs.p50))),
      figure(median(rounds.map(({ latencyMs }) => latencyMs.p99))),
      ...cpuCells(rounds, roles, ({ completed }) => completed),
    ]),
  };
}

function ratioTable(results: ReadonlyMap<string, Measurement[]>): Table {
  const others = [...results.keys()].filter((name) => name !== 'sluice');
  const sluice = results.get('sluice') ?? [];
  return {
    title: 'Throughput of Sluice, compared within each round',
    columns: others.map((name) => `to ${name}`),
    rows: [others.map((name) => spreadFigure(spread(ratios(sluice, results.get(name) ?? [], rate))))],
  };
}
