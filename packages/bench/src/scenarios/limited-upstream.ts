import { type Child, ownProcess, startChild } from '../child-process.ts';
import { atLeast, atMost, goalTable } from '../goals.ts';
import type { LoadReply, LoadResult } from '../load/order.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { startService } from '../service.ts';
import { sum } from '../statistics.ts';
import { figure } from '../table.ts';
import { wholeTargetOf } from '../targets.ts';

const slots = 32;

/** Callers for each call a second: as many as are served in this many seconds, each with a request of its own all the time. */
const overload = 10;

/** Calls a second, and how many of them the upstream saves up while it is not called. */
interface Limit {
  rate: number;
  held: number;
}

const plans: Record<'full' | 'quick', { limits: readonly Limit[]; durationMs: number }> = {
  full: {
    limits: [
      { rate: 20, held: 20 },
      { rate: 50, held: 50 },
      { rate: 200, held: 200 },
      { rate: 50, held: 5 },
    ],
    durationMs: 15_000,
  },
  quick: { limits: [{ rate: 20, held: 20 }], durationMs: 2_000 },
};

/** The longest time for what is in flight at the end, in milliseconds. */
const slackMs = 60_000;

interface Round extends Limit {
  retryAfterSeconds: number | undefined;
  isAdaptive: boolean;
}

/** What the upstream says of a round. */
interface Counts {
  taken: number;
  refused: number;
  /** From the first call that it took to the last, in milliseconds. */
  tookMs: number;
}

interface RoundResult extends Round {
  load: LoadResult;
  counts: Counts;
}

/** An upstream that allows some calls a second, under ten times the load. */
export const limitedUpstream: Scenario = {
  name: 'limited-upstream',
  budgetMs: 400_000,
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const { limits, durationMs } = context.quick ? plans.quick : plans.full;
    const results: RoundResult[] = [];
    for (const limit of limits) {
      for (const retryAfterSeconds of [undefined, 1]) {
        // Where the upstream saves up little, parking it alone wastes most of what it takes.
        for (const isAdaptive of limit.held < limit.rate ? [false, true] : [true]) {
          results.push(await runRound(context, { ...limit, retryAfterSeconds, isAdaptive }, durationMs));
        }
      }
    }
    return report(results);
  },
};

/** The processes are new in each round, because a worker remembers what an upstream takes. */
async function runRound(context: ScenarioContext, round: Round, durationMs: number): Promise<RoundResult> {
  const { rate, held, retryAfterSeconds, isAdaptive } = round;
  const { load, redis, progress } = context;
  progress.say(`limited upstream: ${rate} a second, ${isAdaptive ? 'adaptive' : 'not adaptive'}`);
  const model = ['limited', rate, held, ...(retryAfterSeconds === undefined ? [] : [retryAfterSeconds])].join(
    '-',
  );
  const upstream = await startChild({
    name: 'limited upstream',
    ...ownProcess('./upstream/limited-upstream'),
  });
  try {
    const service = await startService({
      ...context,
      redisUrl: redis.url,
      upstreamUrl: String(upstream.ready['url']),
      provider: { pressure: { adaptive: isAdaptive } },
      models: [model],
      concurrency: slots,
    });
    try {
      await service.startWorker();
      const order = { target: wholeTargetOf(service, model), concurrency: rate * overload, durationMs };
      const reply = (await load.ask(order, durationMs + slackMs)) as LoadReply; // the load generator's message
      if ('error' in reply) throw new Error(`the load generator failed: ${reply.error}`);
      return { ...round, load: reply.result, counts: await countsOf(upstream) };
    } finally {
      await service.stop();
      await redis.clear(service.keyPrefix);
    }
  } finally {
    await upstream.stop();
  }
}

async function countsOf(upstream: Child): Promise<Counts> {
  return (await upstream.ask({}, 5_000)) as Counts; // the upstream's message
}

function goodput({ rate, held, counts }: Pick<RoundResult, 'rate' | 'held' | 'counts'>): number {
  return ((counts.taken - held) * 1000) / counts.tookMs / rate;
}

function report(results: readonly RoundResult[]): ScenarioReport {
  return {
    title: 'An upstream that limits calls',
    description:
      'An upstream that takes R calls a second, as a token bucket, and answers 429 above. ' +
      `${overload} R callers wait for a whole response each and send the next request as soon as they have it, so there is ` +
      `always work for ${overload} seconds. One api and one worker with ${slots} slots, both new in each round. ` +
      'Goodput is what the upstream took in a second, from its first call to its last, without what the bucket held at ' +
      'the beginning. `pressure.adaptive: false` is a worker that parks the upstream after a 429, and then calls with all slots.',
    tables: [
      goalTable([
        {
          what: 'goodput over R, where the bucket holds what comes in a second',
          goal: 'at least 0.9',
          rounds: results.filter(({ rate, held, isAdaptive }) => isAdaptive && held >= rate).map(goodput),
          isMet: atLeast(0.9),
        },
        {
          what: 'callers that got an error, in all rounds that adapt',
          goal: 'at most 0',
          rounds: [sum(results.filter(({ isAdaptive }) => isAdaptive).map(({ load }) => load.failed))],
          isMet: atMost(0),
        },
      ]),
      {
        title: 'Goodput over R',
        columns: [
          'upstream',
          'R',
          'the bucket holds',
          'adaptive',
          'goodput/R',
          'callers that got an error',
          'answers',
          '429s from the upstream',
          'p50 s',
          'p99 s',
        ],
        rows: results.map(({ rate, held, retryAfterSeconds, isAdaptive, load, counts }) => [
          retryAfterSeconds === undefined
            ? '429 without `Retry-After`'
            : `429 with \`Retry-After: ${retryAfterSeconds}\``,
          String(rate),
          String(held),
          isAdaptive ? 'yes' : 'no',
          figure(goodput({ rate, held, counts })),
          String(load.failed),
          String(load.completed),
          String(counts.refused),
          figure(load.latencyMs.p50 / 1000),
          figure(load.latencyMs.p99 / 1000),
        ]),
      },
    ],
  };
}
