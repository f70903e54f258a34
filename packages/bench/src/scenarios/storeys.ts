import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { patchedBuild, type PatchedBuild } from '@sluice/testing';
import { cpuOf } from '../cpu-times.ts';
import type { LoadOrder } from '../load/order.ts';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { alternate, ratios } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { type BenchService, startService } from '../service.ts';
import { median, spread } from '../statistics.ts';
import { beside, type Storey, without } from '../storeys/storeys.ts';
import { figure, spreadFigure, type Table } from '../table.ts';
import { streamTarget, wholeTarget } from '../targets.ts';
import { modelName } from '../upstream/no-op-answer.ts';

const slots = 64;
const roles = ['api', 'worker', 'redis'];
const oneToken = { tokens: 1, intervalMs: 0 };

const plans = {
  full: {
    warmUpMs: 4_000,
    response: { concurrency: 16, rounds: 6, roundMs: 2_000 },
    token: { model: { tokens: 200, intervalMs: 20 }, rounds: 2, roundMs: 5_000, staggerMs: 4_000 },
  },
  quick: {
    warmUpMs: 400,
    response: { concurrency: 16, rounds: 1, roundMs: 400 },
    token: { model: { tokens: 50, intervalMs: 20 }, rounds: 1, roundMs: 1_000, staggerMs: 500 },
  },
};

const plain: Storey = { name: 'as it is' };

/** The first has the code of what it is held against: two processes of it differ, too. */
const all: readonly Storey[] = [{ name: 'as it is, once more' }, ...without, ...beside];

/** A service that has something other than by default. */
interface Variant {
  storey: Storey;
  service: BenchService;
  processes: ReadonlyMap<string, { pid: number }>;
}

/** The cost of each part of a response and of a token: CPU time with the part switched off, beside the whole. */
export const storeys: Scenario = {
  name: 'storeys',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const { progress, quick } = context;
    const plan = quick ? plans.quick : plans.full;
    const builds = new Map<Storey, PatchedBuild>();
    const receiver = await startReceiver();
    const found = { responses: emptyResults(), tokens: emptyResults() };
    try {
      for (const storey of all) {
        progress.say(`storeys: building ${storey.name}`);
        if (storey.patches) builds.set(storey, await patchedBuild(storey.patches));
      }
      for (const storey of all) {
        progress.say(`storeys: ${storey.name}`);
        const variants: Variant[] = [];
        try {
          for (const each of [plain, storey]) {
            const command = builds.get(each)?.root;
            variants.push(await start(context, each, { command, receiverUrl: receiver.url }));
          }
          add(found.responses, storey, await competeByResponses(context, variants));
          add(found.tokens, storey, await competeByTokens(context, variants));
        } finally {
          await Promise.all(variants.map(({ service }) => service.stop()));
          for (const { service } of variants) await context.redis.clear(service.keyPrefix);
        }
      }
    } finally {
      await receiver.stop();
      for (const build of builds.values()) await build[Symbol.asyncDispose]();
    }
    return {
      title: 'What each storey costs',
      description: descriptionOf(plan),
      tables: [storeyTable(found)],
    };
  },
};

/** The rounds of a storey, and those of the service as it is that took turns with them. */
interface Pair {
  own: Measurement[];
  asItIs: Measurement[];
}

type Results = ReadonlyMap<Storey, Pair>;

function emptyResults(): Results {
  return new Map(all.map((storey) => [storey, { own: [], asItIs: [] }]));
}

function add(results: Results, storey: Storey, more: ReadonlyMap<Variant, Measurement[]>): void {
  const pair = results.get(storey);
  for (const [variant, rounds] of more) {
    (variant.storey === plain ? pair?.asItIs : pair?.own)?.push(...rounds);
  }
}

async function start(
  context: ScenarioContext,
  storey: Storey,
  { command, receiverUrl }: { command: string | undefined; receiverUrl: string },
): Promise<Variant> {
  const { token } = context.quick ? plans.quick : plans.full;
  const service = await startService({
    ...context,
    redisUrl: context.redis.url,
    models: [oneToken, token.model].map(modelName),
    concurrency: slots,
    ...(command !== undefined && { command: join(command, 'apps/sluice/dist/main.js') }),
    ...(storey.settings && { settings: storey.settings }),
    ...(storey.keyLimits && { keyLimits: storey.keyLimits }),
    ...(storey.isTraced && { env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiverUrl } }),
  });
  try {
    const worker = await service.startWorker();
    return {
      storey,
      service,
      processes: new Map([
        ['api', service.api],
        ['worker', worker],
      ]),
    };
  } catch (error) {
    await service.stop();
    throw error;
  }
}

/** A receiver of spans that reads nothing of them. It runs in this process, whose CPU time nobody counts. */
async function startReceiver(): Promise<{ url: string; stop: () => Promise<unknown> }> {
  const server = createServer((request, answer) => {
    request.resume().once('end', () => answer.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port, not on a pipe
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}

function competeByResponses(context: ScenarioContext, variants: readonly Variant[]) {
  const { response, warmUpMs } = context.quick ? plans.quick : plans.full;
  const target = ({ service, storey: { freshHeader } }: Variant) => ({
    ...wholeTarget(service, oneToken),
    ...(freshHeader !== undefined && { freshHeader }),
  });
  return compete(context, variants, {
    rounds: response.rounds,
    warmUpOf: (variant) => ({ target: target(variant), concurrency: slots, durationMs: warmUpMs }),
    orderOf: (variant) => ({
      target: target(variant),
      concurrency: response.concurrency,
      durationMs: response.roundMs,
    }),
  });
}

function competeByTokens(context: ScenarioContext, variants: readonly Variant[]) {
  const { model, rounds, roundMs, staggerMs } = (context.quick ? plans.quick : plans.full).token;
  const order = { concurrency: slots, durationMs: roundMs };
  const target = ({ service, storey: { freshHeader } }: Variant) => ({
    ...streamTarget(service, model),
    ...(freshHeader !== undefined && { freshHeader }),
  });
  return compete(context, variants, {
    rounds,
    warmUpOf: (variant) => ({ ...order, durationMs: roundMs / 2, target: target(variant) }),
    orderOf: (variant) => ({ ...order, staggerMs, target: target(variant) }),
  });
}

function compete(
  { load, redis }: ScenarioContext,
  variants: readonly Variant[],
  plan: {
    rounds: number;
    warmUpOf: (variant: Variant) => LoadOrder;
    orderOf: (variant: Variant) => LoadOrder;
  },
): Promise<ReadonlyMap<Variant, Measurement[]>> {
  const isWarm = new Set<Variant>();
  const runs = variants.map((variant) => {
    const run = async () => {
      if (!isWarm.has(variant)) await runLoad(load, plan.warmUpOf(variant));
      isWarm.add(variant);
      return measure(plan.orderOf(variant), { load, redis, processes: variant.processes });
    };
    return [variant, run] as const;
  });
  return alternate(new Map(runs), plan.rounds);
}

function storeyTable({ responses, tokens }: { responses: Results; tokens: Results }): Table {
  const ofResponses = costsOf(responses, ({ completed }) => completed);
  const ofTokens = costsOf(tokens, ({ marks }) => marks);
  const times = 'times as it is, in each round';
  return {
    title: 'CPU in µs',
    columns: ['', 'a response: api', 'worker', 'redis', 'all three', times, 'a token: all three', times],
    rows: all.map((storey) => [
      storey.name,
      ...roles.map((role) => figure(ofResponses.median(storey, [role]))),
      figure(ofResponses.median(storey, roles)),
      spreadFigure(spread(ofResponses.times(storey))),
      figure(ofTokens.median(storey, roles)),
      spreadFigure(spread(ofTokens.times(storey))),
    ]),
  };
}

/** The cost of a piece of work, in microseconds. */
interface Costs {
  median: (storey: Storey, of: readonly string[]) => number;
  /** What it costs as a multiple of the service as it is, in each round. */
  times: (storey: Storey) => number[];
}

function costsOf(results: Results, worksOf: (round: Measurement) => number): Costs {
  const pairOf = (storey: Storey): Pair => results.get(storey) ?? { own: [], asItIs: [] };
  const cost = (round: Measurement, of: readonly string[]) => (cpuOf(round, of) * 1000) / worksOf(round);
  return {
    median: (storey, of) => median(pairOf(storey).own.map((round) => cost(round, of))),
    times: (storey) => ratios(pairOf(storey).own, pairOf(storey).asItIs, (round) => cost(round, roles)),
  };
}

function descriptionOf({ warmUpMs, response }: typeof plans.full): string {
  return (
    `A synchronous response of one token, ${response.concurrency} at a time, and a token of ${slots} paced streams: CPU of the api, the worker and Redis, ` +
    'with one part of them switched off or on. Each row is an api and a worker of its own, and takes turns with an api and a worker as they are, started beside it. ' +
    'Where there is no setting, a copy of the sources is changed and built. Both have answered ' +
    `${slots} callers for ${warmUpMs / 1000} seconds before anything is measured. A row that differs as little as \`as it is, once more\` shows nothing.`
  );
}
