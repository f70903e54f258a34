import { atLeast, atMost, goalTable } from '../goals.ts';
import { type Point, renderPlot } from '../plot/plot.ts';
import { alternate } from '../rounds.ts';
import type { Picture, Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import type { BenchTenant } from '../service.ts';
import { nameOf, sharesOf, worstDeviation } from '../shares.ts';
import { onStage, type Stage } from '../stage.ts';
import { spread } from '../statistics.ts';
import { spreadFigure, type Table } from '../table.ts';
import { burstFlow } from '../traffic/flows.ts';
import { type Arrival, pacedModelName, releaseMs } from '../upstream/paced-model.ts';
import { until } from '../until.ts';

/** A slot is released every 5 ms. */
const model = { serviceMs: 100, slots: 20, tokens: 1 };

const plans = {
  full: { rounds: 3, each: 1_000, starts: 800 },
  quick: { rounds: 1, each: 200, starts: 120 },
};

/** Who waits, in the order of coming: once priority comes first, and once last. Each has more than what is watched. */
interface Contest {
  tenants: readonly BenchTenant[];
  flows: readonly { name: string; tenant: string; tier?: 'flex' | 'priority' }[];
}

const tiers = ['default', 'flex', 'priority'] as const;

const contests = {
  'weights 1 and 3': {
    tenants: [
      { name: 'light', weight: 1 },
      { name: 'heavy', weight: 3 },
    ],
    flows: [
      { name: 'weight.1', tenant: 'light' },
      { name: 'weight.3', tenant: 'heavy' },
    ],
  },
  'tiers of one tenant': {
    tenants: [{ name: 'both', tiers }],
    flows: [
      { name: 'priority', tenant: 'both', tier: 'priority' },
      { name: 'flex', tenant: 'both', tier: 'flex' },
    ],
  },
  'tiers of two tenants': {
    tenants: [
      { name: 'urgent', tiers },
      { name: 'patient', tiers },
    ],
    flows: [
      { name: 'flex', tenant: 'patient', tier: 'flex' },
      { name: 'priority', tenant: 'urgent', tier: 'priority' },
    ],
  },
} as const satisfies Record<string, Contest>;

type ContestName = keyof typeof contests;

/** What the upstream saw while everybody waited, in the order of arrival. */
type Round = readonly Arrival[];

/** How tenants and tiers share a model that is never free. */
export const shares: Scenario = {
  name: 'shares',
  budgetMs: 180_000,
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const { rounds, each, starts } = context.quick ? plans.quick : plans.full;
    return onStage(context, async (stage) => {
      const run = (name: ContestName) => () => {
        context.progress.say(`shares: ${name}`);
        return compete(context, stage, contests[name], { each, starts });
      };
      const names = Object.keys(contests) as ContestName[]; // the keys of the object above
      return report(await alternate(new Map(names.map((name) => [name, run(name)])), rounds), {
        each,
        starts,
      });
    });
  },
};

async function compete(
  { deadline }: ScenarioContext,
  stage: Stage,
  { tenants, flows }: Contest,
  { each, starts }: { each: number; starts: number },
): Promise<Round> {
  const { upstream, traffic } = stage;
  const service = await stage.start({
    models: [pacedModelName(model)],
    concurrency: model.slots,
    modelConcurrency: model.slots,
    tenants,
  });
  await upstream.forget();
  for (const flow of flows) {
    await traffic.fill(
      burstFlow(service, { ...flow, model, count: each, lastsMs: deadline - performance.now() }),
    );
  }
  await service.startWorker();
  const needed = model.slots + starts;
  await until(`${needed} have started`, async () => (await upstream.count()).arrived >= needed, deadline);
  const log = await upstream.log();
  await stage.end(service);
  // The first slots are filled at once, before there is an order to speak of.
  return log.slice(model.slots, needed);
}

function namesOf(round: Round): string[] {
  return round.map(({ tag }) => nameOf(tag));
}

function shareOf(round: Round, name: string): number {
  return sharesOf(namesOf(round)).get(name) ?? 0;
}

/** The longest time between two starts of a name, or before its first or after its last one, in milliseconds. */
function longestGapMs(round: Round, name: string): number {
  const times = round.filter(({ tag }) => nameOf(tag) === name).map(({ at }) => at);
  const marks = [round[0]?.at ?? 0, ...times, round.at(-1)?.at ?? 0];
  return Math.max(...marks.slice(1).map((at, before) => at - (marks[before] ?? at)));
}

/** The least that flex must get, and that priority must get beside it. */
const leastFlex = 1;
const leastPriority = 50;

type Results = ReadonlyMap<ContestName, readonly Round[]>;

function report(results: Results, { each, starts }: { each: number; starts: number }): ScenarioReport {
  const weights = new Map([
    ['weight.1', 1],
    ['weight.3', 3],
  ]);
  const of = (name: ContestName) => results.get(name) ?? [];
  const tierNames = ['tiers of one tenant', 'tiers of two tenants'] as const;
  return {
    title: 'Shares of a busy model',
    description:
      `${each.toLocaleString('en-US')} background responses of each kind wait, one kind after the other, and then a worker ` +
      `starts. The model serves ${model.slots} at a time for ${model.serviceMs} ms each, so a slot is released every ` +
      `${releaseMs(model)} ms. Shares are those of ${starts.toLocaleString('en-US')} starts, while everybody waits.`,
    tables: [
      goalTable([
        {
          what: 'weights 1 and 3: largest deviation of a share from the weight',
          goal: 'at most 5 %',
          rounds: of('weights 1 and 3').map((round) => worstDeviation(namesOf(round), weights) * 100),
          isMet: atMost(5),
        },
        ...tierNames.flatMap((name) => [
          {
            what: `${name}: share of flex under priority load`,
            goal: `at least ${leastFlex} %`,
            rounds: of(name).map((round) => shareOf(round, 'flex') * 100),
            isMet: atLeast(leastFlex),
          },
          {
            what: `${name}: share of priority`,
            goal: `at least ${leastPriority} %`,
            rounds: of(name).map((round) => shareOf(round, 'priority') * 100),
            isMet: atLeast(leastPriority),
          },
        ]),
      ]),
      shareTable(results),
    ],
    pictures: [...results].map(([name, rounds]) => sharePicture(name, rounds)),
  };
}

function shareTable(results: Results): Table {
  return {
    title: 'Starts of each kind',
    columns: ['', 'share %', 'longest time without a start, ms'],
    rows: [...results].flatMap(([contest, rounds]) =>
      contests[contest].flows.map(({ name }) => [
        `${contest}: ${name}`,
        spreadFigure(spread(rounds.map((round) => shareOf(round, name) * 100))),
        spreadFigure(spread(rounds.map((round) => longestGapMs(round, name)))),
      ]),
    ),
  };
}

function sharePicture(contest: ContestName, rounds: readonly Round[]): Picture {
  const round = rounds.at(-1) ?? [];
  const title = `What has started, by kind: ${contest}`;
  return {
    file: `shares-${contest.replaceAll(' ', '-')}.svg`,
    alt: title,
    svg: renderPlot({
      title,
      xLabel: 'seconds',
      yLabel: 'responses started',
      series: contests[contest].flows.map(({ name }) => ({
        name,
        style: 'line',
        points: startCurve(round, name),
      })),
    }),
  };
}

/** How many have started by each moment, from the first start of any kind to the last. */
function startCurve(round: Round, name: string): Point[] {
  const own = round.filter(({ tag }) => nameOf(tag) === name);
  const seconds = (at: number) => (at - (round[0]?.at ?? 0)) / 1000;
  return [
    [0, 0],
    ...own.map(({ at }, count): Point => [seconds(at), count + 1]),
    [seconds(round.at(-1)?.at ?? 0), own.length],
  ];
}
