import { type BenchRedis, callsBetween, openRedis } from '../bench-redis.ts';
import { runLoad } from '../measure.ts';
import { alternate, ratios } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { startService } from '../service.ts';
import { median, spread, sum } from '../statistics.ts';
import { figure, spreadFigure } from '../table.ts';
import { wholeTarget } from '../targets.ts';
import { modelName } from '../upstream/no-op-answer.ts';

const model = { tokens: 1, intervalMs: 0 };

/** The names of the cells. */
const names = ['0', 'E', 's'];

/** A load below what the machine can do: the same number of callers, each with a pause between two responses. */
const plans = {
  full: { responses: 3_000, warmUp: 1_500, rounds: 5, callers: 15, pauseMs: 100 },
  quick: { responses: 60, warmUp: 30, rounds: 1, callers: 3, pauseMs: 10 },
};

type Plan = (typeof plans)['full'];

/** The longest time for a round. */
const mostMs = 300_000;

/** The work of a round, by primary. */
interface Round {
  responses: number;
  commands: number[];
  /** Time in commands, without reading and writing them. */
  commandUs: number[];
  cpuMs: number[];
}

/** The same responses on one, two and three primaries, with a cell at each. */
export const cells: Scenario = {
  name: 'cells',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    const sites: Site[] = [];
    try {
      for (const count of names.keys()) sites.push(await startSite(context, count + 1));
      const runs = new Map(
        sites.flatMap((site) =>
          rowsOf(site, plan).map(([name, ofRow]) => [name, () => runRound(context, site, ofRow)] as const),
        ),
      );
      for (const site of sites) {
        context.progress.say(`cells: warming up ${site.primaries.length}`);
        await load(context, site, { ...plan, responses: plan.warmUp });
      }
      return report(await alternate(runs, plan.rounds), plan);
    } finally {
      for (const site of sites) await site.stop();
    }
  },
};

/** The rows of a site. One primary also has as few callers as each of three has, for what a server does of so little work at a time. */
function rowsOf({ primaries: { length } }: Site, plan: Plan): [string, Plan][] {
  if (length > 1) return [[String(length), plan]];
  const third = (number: number) => number / names.length;
  const few = { ...plan, responses: third(plan.responses), callers: third(plan.callers) };
  return [
    [whole, plan],
    [`${whole}, with a third of the callers`, few],
  ];
}

/** The row that the others are held against. */
const whole = '1';

interface Site {
  primaries: BenchRedis[];
  target: ReturnType<typeof wholeTarget>;
  stop: () => Promise<void>;
}

async function startSite(context: ScenarioContext, count: number): Promise<Site> {
  const primaries: BenchRedis[] = [];
  for (let at = 0; at < count; at += 1) primaries.push(await openRedis(undefined));
  const service = await startService({
    ...context,
    redisUrl: primaries.map(({ url }, at) => `${url}?cell=${names[at]}`).join(' '),
    models: [modelName(model)],
    concurrency: 64,
    keyLimits: { cells: count },
  });
  await service.startWorker();
  return {
    primaries,
    target: wholeTarget(service, model),
    async stop() {
      await service.stop();
      await Promise.all(primaries.map((primary) => primary.stop()));
    },
  };
}

async function load(
  { load: generator }: ScenarioContext,
  { target }: Site,
  { responses, callers, pauseMs }: Plan,
): Promise<number> {
  const order = {
    target,
    concurrency: callers,
    pauseMs,
    staggerMs: pauseMs,
    count: responses,
    durationMs: mostMs,
  };
  return (await runLoad(generator, order)).completed;
}

async function runRound(context: ScenarioContext, site: Site, plan: Plan): Promise<Round> {
  const { primaries } = site;
  context.progress.say(`cells: ${primaries.length} of them`);
  const read = () =>
    Promise.all(
      primaries.map(async (primary) => ({
        calls: await primary.commandCalls(),
        commandUs: await primary.commandTimeUs(),
        cpuMs: await primary.cpuTimeMs(),
      })),
    );
  const before = await read();
  const responses = await load(context, site, plan);
  const after = await read();
  const changes = after.map(({ calls, commandUs, cpuMs }, at) => ({
    commands: sum([...callsBetween(before[at]?.calls ?? new Map(), calls).values()]),
    commandUs: commandUs - (before[at]?.commandUs ?? 0),
    cpuMs: cpuMs - (before[at]?.cpuMs ?? 0),
  }));
  return {
    responses,
    commands: changes.map(({ commands }) => commands),
    commandUs: changes.map(({ commandUs }) => commandUs),
    cpuMs: changes.map(({ cpuMs }) => cpuMs),
  };
}

function report(
  results: ReadonlyMap<string, Round[]>,
  { responses, callers, pauseMs, rounds }: Plan,
): ScenarioReport {
  const base = results.get(whole) ?? [];
  const commands = (round: Round) => sum(round.commands) / round.responses;
  const commandUs = (round: Round) => sum(round.commandUs) / round.responses;
  const cpuUs = (round: Round) => (sum(round.cpuMs) * 1_000) / round.responses;
  const busiest = (parts: readonly number[]) => (Math.max(...parts) / sum(parts)) * parts.length;
  const of = (values: readonly number[]) => spreadFigure(spread(values));
  return {
    title: 'Several primaries',
    description:
      `${responses.toLocaleString('en-US')} synchronous responses of a tenant that is in every cell, by ${callers} callers with ${pauseMs} ms between two, on one, two and three primaries with one cell each. ` +
      `One api and one worker. ${rounds} rounds, in turn. Commands include those of scripts and those that a service at rest sends; what a script calls counts twice in the µs. The busiest primary has so many times its even share. A server that has less to do does less of it each time that it wakes, so one primary with a third of the callers is what three are to be held against. Here all primaries share two cores and their caches with each other, the api and the worker, and the µs of commands are those of the wall clock, in which a primary may be waiting for a core. So the commands tell what a primary has to do, and the µs what this machine makes of it. On one machine more primaries carry no more.`,
    tables: [
      {
        title: 'What the primaries do for a response',
        columns: [
          'primaries',
          'commands',
          'to one primary',
          'µs in commands',
          'to one primary',
          'CPU µs',
          'to one primary',
          'busiest, commands',
          'busiest, µs in commands',
        ],
        rows: [...results].map(([primaries, each]) => [
          primaries,
          figure(median(each.map(commands))),
          of(ratios(each, base, commands)),
          figure(median(each.map(commandUs))),
          of(ratios(each, base, commandUs)),
          figure(median(each.map(cpuUs))),
          of(ratios(each, base, cpuUs)),
          of(each.map((round) => busiest(round.commands))),
          of(each.map((round) => busiest(round.commandUs))),
        ]),
      },
    ],
  };
}
