import { type CommandCalls, callsBetween } from '../bench-redis.ts';
import type { Child } from '../child-process.ts';
import { costToBareJob } from '../guard.ts';
import type { LoadOrder, Target } from '../load/order.ts';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { type Pattern, startPattern } from '../pattern.ts';
import { alternate, ratios } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { startService } from '../service.ts';
import { median, spread } from '../statistics.ts';
import { cpuCells, figure, spreadFigure, type Table } from '../table.ts';
import { directTarget, generateTarget, wholeTarget } from '../targets.ts';
import { modelName } from '../upstream/no-op-answer.ts';

const concurrencies = [1, 16, 64];
const slots = 64;
const model = { tokens: 1, intervalMs: 0 };
const roles = ['load', 'api', 'worker', 'redis', 'upstream'];

const plans = {
  full: { rounds: 5, roundMs: 1_500, warmUpMs: 2_000 },
  quick: { rounds: 1, roundMs: 400, warmUpMs: 400 },
};

type Alternative = 'direct' | 'usual BullMQ pattern' | 'bare job' | 'sluice';

interface Contestant {
  target: Target;
  usesRedis: boolean;
  processes: ReadonlyMap<string, Child>;
}

/** Whole answers of one token, which show the cost of the way through the queue. */
export const synchronousRequests: Scenario = {
  name: 'synchronous-requests',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const service = await startService({
      ...context,
      redisUrl: context.redis.url,
      models: [modelName(model)],
      concurrency: slots,
    });
    const patterns: Pattern[] = [];
    try {
      const worker = await service.startWorker();
      const usual = await startPattern('usual-pattern', slots, context);
      patterns.push(usual);
      const bare = await startPattern('bare-job', slots, context);
      patterns.push(bare);
      const upstream = ['upstream', context.upstream] as const;
      const contestants = new Map<Alternative, Contestant>([
        [
          'direct',
          {
            target: directTarget(context.upstreamUrl, model),
            usesRedis: false,
            processes: new Map([upstream]),
          },
        ],
        ['usual BullMQ pattern', contestant(usual, upstream)],
        ['bare job', contestant(bare, upstream)],
        [
          'sluice',
          {
            target: wholeTarget(service, model),
            usesRedis: true,
            processes: new Map([['api', service.api], ['worker', worker], upstream]),
          },
        ],
      ]);
      return report(await compete(context, contestants), await countCommands(context, contestants));
    } finally {
      await Promise.all([...patterns.map((pattern) => pattern.stop()), service.stop()]);
      for (const { prefix } of patterns) await context.redis.clear(prefix);
      await context.redis.clear(service.keyPrefix);
    }
  },
};

function contestant({ api, worker }: Pattern, upstream: readonly ['upstream', Child]): Contestant {
  return {
    target: generateTarget(String(api.ready['url'])),
    usesRedis: true,
    processes: new Map([['api', api], ['worker', worker], upstream]),
  };
}

type Results = Map<number, Map<Alternative, Measurement[]>>;

async function compete(
  { load, redis, quick, progress }: ScenarioContext,
  contestants: ReadonlyMap<Alternative, Contestant>,
): Promise<Results> {
  const { rounds, roundMs, warmUpMs } = quick ? plans.quick : plans.full;
  const results: Results = new Map();
  for (const { target } of contestants.values()) {
    progress.say('synchronous requests: warming up');
    await runLoad(load, { target, concurrency: slots, durationMs: warmUpMs });
  }
  for (const concurrency of concurrencies) {
    const runs = new Map(
      [...contestants].map(([name, { target, usesRedis, processes }]) => {
        const order: LoadOrder = { target, concurrency, durationMs: roundMs };
        const run = () => {
          progress.say(`synchronous requests: ${name}, ${concurrency} at a time`);
          return measure(order, { load, redis: usesRedis ? redis : undefined, processes });
        };
        return [name, run];
      }),
    );
    results.set(concurrency, await alternate(runs, rounds));
  }
  return results;
}

/** How often a request calls each Redis command, measured at the highest concurrency. */
async function countCommands(
  { load, redis, quick }: ScenarioContext,
  contestants: ReadonlyMap<Alternative, Contestant>,
): Promise<Map<Alternative, CommandCalls>> {
  const counted = new Map<Alternative, CommandCalls>();
  for (const [name, { target, usesRedis }] of contestants) {
    if (!usesRedis) continue;
    const before = await redis.commandCalls();
    const durationMs = (quick ? plans.quick : plans.full).roundMs;
    const { completed } = await runLoad(load, { target, concurrency: slots, durationMs });
    const calls = callsBetween(before, await redis.commandCalls());
    counted.set(name, new Map([...calls].map(([command, count]) => [command, count / completed])));
  }
  return counted;
}

function rate({ completed, elapsedMs }: Measurement): number {
  return (completed * 1000) / elapsedMs;
}

function report(results: Results, commands: Map<Alternative, CommandCalls>): ScenarioReport {
  return {
    title: 'Synchronous requests',
    description:
      'One answer of one token, from an upstream that does no work, so that everything measured is overhead. ' +
      'The usual pattern is one api process (`queue.add`, `job.waitUntilFinished`) and one worker process with one ' +
      'BullMQ `Worker`, which carry prompt and answer in the job, remove no job, and apply no limits. Sluice is one ' +
      `api and one worker. The bare job is one BullMQ job and one publish for each request, with no record, no key, no ` +
      'limit and no promise; it keeps as few finished jobs as Sluice, and sets no priority. What it costs beyond the ' +
      `direct call is the queue's, and what Sluice costs beyond it is Sluice's own. Every worker has ${slots} slots.`,
    tables: [
      ...[...results].map(([concurrency, byName]) => rateTable(concurrency, byName)),
      ratioTable(results),
      commandTable(commands),
    ],
    costs: [...results].map(([concurrency, byName]) =>
      costToBareJob(
        `a synchronous request, ${concurrency} at a time`,
        { sluice: byName.get('sluice') ?? [], bareJob: byName.get('bare job') ?? [] },
        ({ completed }) => completed,
      ),
    ),
  };
}

function rateTable(concurrency: number, byName: Map<Alternative, Measurement[]>): Table {
  return {
    title: `${concurrency} at a time; CPU in µs a request`,
    columns: ['', 'requests/s', 'p50 ms', 'p99 ms', ...roles.map((role) => `${role} CPU`), 'all CPU'],
    rows: [...byName].map(([name, rounds]) => [
      name,
      spreadFigure(spread(rounds.map(rate))),
      figure(median(rounds.map(({ latencyMs }) => latencyMs.p50))),
      figure(median(rounds.map(({ latencyMs }) => latencyMs.p99))),
      ...cpuCells(rounds, roles, ({ completed }) => completed),
    ]),
  };
}

const compared: readonly (readonly [Alternative, Alternative])[] = [
  ['sluice', 'usual BullMQ pattern'],
  ['bare job', 'usual BullMQ pattern'],
  ['sluice', 'direct'],
];

function ratioTable(results: Results): Table {
  return {
    title: 'Throughput, compared within each round',
    columns: ['at a time', ...compared.map(([over, under]) => `${over} to ${under}`)],
    rows: [...results].map(([concurrency, byName]) => [
      String(concurrency),
      ...compared.map(([over, under]) =>
        spreadFigure(spread(ratios(byName.get(over) ?? [], byName.get(under) ?? [], rate))),
      ),
    ]),
  };
}

/** Commands below this number of calls are the upkeep of idle connections. */
const rareCalls = 0.05;

function commandTable(counted: Map<Alternative, CommandCalls>): Table {
  return {
    title: `Redis commands a request, those inside scripts included, ${slots} at a time`,
    columns: ['', 'all', 'which'],
    rows: [...counted].map(([name, calls]) => {
      const frequent = [...calls].filter(([, count]) => count >= rareCalls).toSorted((a, b) => b[1] - a[1]);
      const total = [...calls.values()].reduce((all, count) => all + count, 0);
      return [
        name,
        figure(total),
        frequent.map(([command, count]) => `${command} ${figure(count)}`).join(', '),
      ];
    }),
  };
}
