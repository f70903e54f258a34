import type { Child } from '../child-process.ts';
import { knownGateways } from '../gateways/known-gateways.ts';
import { type RunningGateway, startGateway } from '../gateways/start-gateway.ts';
import { installChosen } from '../installs.ts';
import type { LoadOrder, LoadResult, Target } from '../load/order.ts';
import { runLoad } from '../measure.ts';
import { alternate, ratios } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { startService } from '../service.ts';
import { median, spread } from '../statistics.ts';
import { figure, spreadFigure } from '../table.ts';
import { directTarget, streamTarget } from '../targets.ts';
import { modelName } from '../upstream/no-op-answer.ts';

/** Fifty tokens a second, for two seconds. */
const model = { tokens: 100, intervalMs: 20 };
const streamMs = model.tokens * model.intervalMs;

/** A stream that pauses longer than this between two tokens seems to stand still. */
const mostGapMs = 100;

/** More than any machine carries. */
const slots = 4_000;

const plans = {
  full: { rounds: 2, first: 64, steps: 2, most: 1_024 },
  quick: { rounds: 1, first: 8, steps: 0, most: 16 },
};

/** How many streams were carried, and how they were. */
interface Carried {
  streams: number;
  gapMs: number;
  firstMarkMs: number;
}

/** How many paced streams are carried until they stutter. Runs when it is asked for, because gateways are installed for it. */
export const carriedStreams: Scenario = {
  name: 'carried',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const { progress, upstreamUrl, redis, quick } = context;
    const plan = quick ? plans.quick : plans.full;
    const chosen = await installChosen(knownGateways, context);
    const service = await startService({
      ...context,
      redisUrl: redis.url,
      models: [modelName(model)],
      concurrency: slots,
    });
    const running: RunningGateway[] = [];
    try {
      await service.startWorker();
      const targets = new Map<string, Target>([['direct', directTarget(upstreamUrl, model)]]);
      for (const gateway of chosen) {
        progress.say(`carried: starting ${gateway.name}`);
        const started = await startGateway(gateway, { upstreamUrl, models: [model] });
        running.push(started);
        targets.set(gateway.name, started.target(model));
      }
      targets.set('sluice', streamTarget(service, model));
      const results = await alternate(
        new Map(
          [...targets].map(([name, target]) => {
            const say = (streams: number) => progress.say(`carried: ${name}, ${streams} streams`);
            return [name, () => findMost(context.load, target, { ...plan, say })] as const;
          }),
        ),
        plan.rounds,
      );
      return report(results);
    } finally {
      await Promise.all([...running.map((gateway) => gateway.stop()), service.stop()]);
      await redis.clear(service.keyPrefix);
    }
  },
};

/** Doubles the streams until they stutter, and then looks between the last two numbers. */
async function findMost(
  load: Child,
  target: Target,
  { first, steps, most, say }: { first: number; steps: number; most: number; say: (streams: number) => void },
): Promise<Carried> {
  let best: Carried = { streams: 0, gapMs: Number.NaN, firstMarkMs: Number.NaN };
  const carries = async (streams: number) => {
    say(streams);
    const result = await streamAll(load, target, streams);
    const carried = result !== undefined && result.gapMs.p99 <= mostGapMs;
    if (carried) best = { streams, gapMs: result.gapMs.p99, firstMarkMs: result.firstMarkMs.p50 };
    return carried;
  };
  let streams = first;
  while (streams <= most && (await carries(streams))) streams *= 2;
  let [low, high] = [best.streams, streams];
  for (let step = 0; step < steps; step += 1) {
    const middle = Math.round((low + high) / 2);
    if (await carries(middle)) low = middle;
    else high = middle;
  }
  return best;
}

/** Begins each stream once, spread over the time of one, so that all of them run together for a moment. Undefined when one failed. */
async function streamAll(load: Child, target: Target, streams: number): Promise<LoadResult | undefined> {
  const order: LoadOrder = {
    target,
    concurrency: streams,
    staggerMs: streamMs / 2,
    durationMs: 1.5 * streamMs,
  };
  try {
    return await runLoad(load, order);
  } catch {
    return undefined;
  }
}

function report(results: ReadonlyMap<string, Carried[]>): ScenarioReport {
  const sluice = results.get('sluice') ?? [];
  return {
    title: 'Streams that are carried',
    description:
      `How many streams of ${1_000 / model.intervalMs} tokens a second are carried together, by one process of a gateway, or by an api, a worker and Redis, ` +
      `until the 99th percentile of the time between two tokens of a stream is more than ${mostGapMs} ms. The load and the upstream share the ` +
      'machine with them. The gateways keep nothing of what passes through them.',
    tables: [
      {
        title: 'Most streams',
        columns: ['', 'streams', 'between tokens p99 ms', 'first token p50 ms', 'sluice to it'],
        rows: [...results].map(([name, rounds]) => [
          name,
          spreadFigure(spread(rounds.map(({ streams }) => streams))),
          figure(median(rounds.map(({ gapMs }) => gapMs))),
          figure(median(rounds.map(({ firstMarkMs }) => firstMarkMs))),
          spreadFigure(spread(ratios(sluice, rounds, ({ streams }) => streams))),
        ]),
      },
    ],
  };
}
