import { join } from 'node:path';
import { cpuOf } from '../cpu-times.ts';
import type { LoadOrder } from '../load/order.ts';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { alternate, ratios } from '../rounds.ts';
import type { ScenarioContext } from '../scenario.ts';
import { type BenchService, startService } from '../service.ts';
import { median, spread } from '../statistics.ts';
import { figure, spreadFigure, type Table } from '../table.ts';
import { streamTarget, wholeTarget } from '../targets.ts';
import { modelName } from '../upstream/no-op-answer.ts';
import type { Storey } from './storeys.ts';

/** How many callers a service is warmed by, and how many streams are read of it. */
export const slots = 64;
const roles = ['api', 'worker', 'redis'];
const oneToken = { tokens: 1, intervalMs: 0 };

/** How long each row is measured. */
export interface TurnsPlan {
  warmUpMs: number;
  response: { concurrency: number; rounds: number; roundMs: number };
  token: { model: typeof oneToken; rounds: number; roundMs: number; staggerMs: number };
}

/** Plans of a smoke run, and of one whose figures count. */
export const plans = {
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
} satisfies Record<string, TurnsPlan>;

/** The first row of a table. It has the code of what it is held against: two processes of it differ, too. */
export const onceMore: Storey = { name: 'as it is, once more' };

/** A service that differs from this build in its defaults. */
export interface Row {
  storey: Storey;
  /** The root of its build. Default: this workspace. */
  root?: string;
  /** Where its spans go, if it is traced. */
  receiverUrl?: string;
}

/** The rounds of a row, and those of the service as it is that took turns with them. */
interface Pair {
  own: Measurement[];
  asItIs: Measurement[];
}

/** The rounds of a row, of responses and of tokens. */
export interface RowResult {
  storey: Storey;
  responses: Pair;
  tokens: Pair;
}

/** Measures a service in turns with one as it is, started beside it. */
export async function takeTurns(context: ScenarioContext, plan: TurnsPlan, row: Row): Promise<RowResult> {
  const variants: Variant[] = [];
  try {
    for (const each of [{ storey: { name: 'as it is' } }, row])
      variants.push(await start(context, plan, each));
    return {
      storey: row.storey,
      responses: await competeByResponses(context, plan, variants),
      tokens: await competeByTokens(context, plan, variants),
    };
  } finally {
    await Promise.all(variants.map(({ service }) => service.stop()));
    for (const { service } of variants) await context.redis.clear(service.keyPrefix);
  }
}

interface Variant {
  storey: Storey;
  service: BenchService;
  processes: ReadonlyMap<string, { pid: number }>;
}

async function start(
  context: ScenarioContext,
  { token }: TurnsPlan,
  { storey, root, receiverUrl }: Row,
): Promise<Variant> {
  const service = await startService({
    ...context,
    redisUrl: context.redis.url,
    models: [oneToken, token.model].map(modelName),
    concurrency: slots,
    ...(root !== undefined && { command: join(root, 'apps/sluice/dist/main.js') }),
    ...(storey.settings && { settings: storey.settings }),
    ...(storey.keyLimits && { keyLimits: storey.keyLimits }),
    ...(receiverUrl !== undefined && { env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiverUrl } }),
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

function competeByResponses(
  context: ScenarioContext,
  { response, warmUpMs }: TurnsPlan,
  variants: readonly Variant[],
): Promise<Pair> {
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

function competeByTokens(
  context: ScenarioContext,
  { token: { model, rounds, roundMs, staggerMs } }: TurnsPlan,
  variants: readonly Variant[],
): Promise<Pair> {
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

async function compete(
  { load, redis }: ScenarioContext,
  variants: readonly Variant[],
  plan: {
    rounds: number;
    warmUpOf: (variant: Variant) => LoadOrder;
    orderOf: (variant: Variant) => LoadOrder;
  },
): Promise<Pair> {
  const isWarm = new Set<Variant>();
  const runs = variants.map((variant) => {
    const run = async () => {
      if (!isWarm.has(variant)) await runLoad(load, plan.warmUpOf(variant));
      isWarm.add(variant);
      return measure(plan.orderOf(variant), { load, redis, processes: variant.processes });
    };
    return [variant, run] as const;
  });
  const [asItIs = [], own = []] = (await alternate(new Map(runs), plan.rounds)).values();
  return { own, asItIs };
}

/** The rounds of several pairs of processes as one row. */
export function inOne(results: readonly RowResult[]): RowResult {
  const [first] = results;
  if (!first) throw new RangeError('nothing was measured');
  const all = (pairOf: (result: RowResult) => Pair): Pair => ({
    own: results.flatMap((result) => pairOf(result).own),
    asItIs: results.flatMap((result) => pairOf(result).asItIs),
  });
  return {
    storey: first.storey,
    responses: all(({ responses }) => responses),
    tokens: all(({ tokens }) => tokens),
  };
}

/** The CPU time of each row, and how many times that of the service as it is. */
export function turnsTable(results: readonly RowResult[]): Table {
  const times = 'times as it is, in each round';
  return {
    title: 'CPU in µs',
    columns: ['', 'a response: api', 'worker', 'redis', 'all three', times, 'a token: all three', times],
    rows: results.map(({ storey, responses, tokens }) => {
      const ofResponses = costsOf(responses, ({ completed }) => completed);
      const ofTokens = costsOf(tokens, ({ marks }) => marks);
      return [
        storey.name,
        ...roles.map((role) => figure(ofResponses.median([role]))),
        figure(ofResponses.median(roles)),
        spreadFigure(spread(ofResponses.times)),
        figure(ofTokens.median(roles)),
        spreadFigure(spread(ofTokens.times)),
      ];
    }),
  };
}

/** The cost of a piece of work in microseconds, and as a multiple of what it costs as it is, in each round. */
function costsOf({ own, asItIs }: Pair, worksOf: (round: Measurement) => number) {
  const cost = (round: Measurement, of: readonly string[]) => (cpuOf(round, of) * 1000) / worksOf(round);
  return {
    median: (of: readonly string[]) => median(own.map((round) => cost(round, of))),
    times: ratios(own, asItIs, (round) => cost(round, roles)),
  };
}
