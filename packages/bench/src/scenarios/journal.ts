import type { Child } from '../child-process.ts';
import { ask, follow, isLoaded } from '../console-reader.ts';
import { atMost, type Goal, goalTable } from '../goals.ts';
import { type JournalTraffic, startJournalTraffic } from '../journal-traffic.ts';
import type { LoadOrder } from '../load/order.ts';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { readResidentBytes } from '../resident-bytes.ts';
import { alternate, ratios } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { type BenchService, startService } from '../service.ts';
import { median, percentile, spread } from '../statistics.ts';
import { cpuCells, figure, spreadFigure, type Table } from '../table.ts';
import { wholeTarget } from '../targets.ts';
import { modelName } from '../upstream/no-op-answer.ts';

const slots = 16;
const model = { tokens: 1, intervalMs: 0 };
const roles = ['load', 'api', 'worker', 'redis'];
const eventsPerSecond = 500;

const plans = {
  full: { rounds: 11, roundMs: 3_000, warmUpMs: 2_000, stored: 100_000, lists: 200, pauseMs: 50 },
  quick: { rounds: 1, roundMs: 400, warmUpMs: 400, stored: 2_000, lists: 10, pauseMs: 10 },
};

type Plan = (typeof plans)['full'];

/** Queries as a person makes them, in turns. */
const queries = [
  'limit=50',
  'status=failed&status=cancelled&limit=50',
  'tenant=tenant-3&model=model-1&limit=50',
  'error_code=timeout&limit=200',
  'id=0a&limit=50',
  'metadata=job:77&limit=50',
];

/** What the journal costs a response, and what the console costs the api that answers it. */
export const journal: Scenario = {
  name: 'journal',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    const costs = await compareCosts(context, plan);
    const looks = await lookAtMany(context, plan);
    return report(plan, costs, looks);
  },
};

type Costs = Map<'journal' | 'without', Measurement[]>;

async function compareCosts(context: ScenarioContext, plan: Plan): Promise<Costs> {
  const services: BenchService[] = [];
  const start = async (isKept: boolean) => {
    const service = await serviceOf(context, isKept);
    services.push(service);
    const worker = await service.startWorker();
    await runLoad(context.load, orderOf(service, plan.warmUpMs));
    return () => measureOn(context, service, worker, plan);
  };
  try {
    const contestants = new Map([
      ['journal', await start(true)],
      ['without', await start(false)],
    ] as const);
    context.progress.say('journal: what it costs a response');
    return await alternate(contestants, plan.rounds);
  } finally {
    for (const service of services) await end(context, service);
  }
}

interface Looks {
  /** The first answer of an index that has read nothing yet, and until it has read everything. */
  firstMs: number;
  loadedMs: number;
  listMs: number[];
  facetMs: number[];
  followed: number;
  /** Throughput of synchronous requests with a console that is looked at, and without. */
  throughput: Map<'with a console' | 'without', Measurement[]>;
  /** Resident memory of the api before the index was asked for the first time, and after all lists. */
  memory: { before: number; after: number };
  redisBytes: number;
}

async function lookAtMany(context: ScenarioContext, plan: Plan): Promise<Looks> {
  const service = await serviceOf(context, true);
  let traffic: JournalTraffic | undefined;
  try {
    const worker = await service.startWorker();
    await runLoad(context.load, orderOf(service, plan.warmUpMs));
    const bytesBefore = await context.redis.usedMemoryBytes();
    traffic = await startJournalTraffic(context.redis.url, service.keyPrefix);
    context.progress.say('journal: filling');
    await traffic.fill(plan.stored);
    const redisBytes = (await context.redis.usedMemoryBytes()) - bytesBefore;
    const before = residentBytes(service.api);
    const begunAt = performance.now();
    await ask(service, 'responses?limit=50');
    const firstMs = performance.now() - begunAt;
    while (!(await isLoaded(service)))
      if (performance.now() > context.deadline) throw new Error('never loaded');
    const loadedMs = performance.now() - begunAt;
    traffic.begin(eventsPerSecond);
    const follower = follow(service);
    context.progress.say('journal: asking for lists');
    const listMs: number[] = [];
    const facetMs: number[] = [];
    for (let at = 0; at < plan.lists; at += 1) {
      const query = queries[at % queries.length] ?? '';
      listMs.push(await timed(() => ask(service, `responses?${query}`)));
      if (at % 4 === 0)
        facetMs.push(await timed(() => ask(service, `responses/facets?${query.replace(/&?limit=\d+/, '')}`)));
      await new Promise((resolve) => setTimeout(resolve, plan.pauseMs));
    }
    const followed = follower.stop();
    const memory = { before, after: residentBytes(service.api) };
    // From here on the requests of the load are what the journal tells of: more entries a second than those were.
    await traffic.end();
    context.progress.say('journal: what a console costs the api');
    const alone = () => measureOn(context, service, worker, plan);
    const throughput = await alternate(
      new Map([
        ['with a console', () => beside(service, alone)],
        ['without', alone],
      ] as const),
      plan.rounds,
    );
    return { firstMs, loadedMs, listMs, facetMs, followed, throughput, memory, redisBytes };
  } finally {
    await traffic?.stop();
    await end(context, service);
  }
}

/** Runs something while a console follows the rows and asks for its page again every second. */
async function beside<Result>(service: BenchService, run: () => Promise<Result>): Promise<Result> {
  const follower = follow(service);
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      await ask(service, 'responses?limit=50');
      await ask(service, 'responses/facets');
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  })();
  try {
    return await run();
  } finally {
    isOver = true;
    follower.stop();
    await asking;
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

function serviceOf(
  { directory, profile, redis, upstreamUrl }: ScenarioContext,
  isKept: boolean,
): Promise<BenchService> {
  return startService({
    directory,
    profile,
    upstreamUrl,
    redisUrl: redis.url,
    models: [modelName(model)],
    concurrency: slots,
    console: { journal: isKept },
  });
}

async function end({ redis }: ScenarioContext, service: BenchService): Promise<void> {
  await service.stop();
  await redis.clear(service.keyPrefix);
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const since = performance.now();
  await run();
  return performance.now() - since;
}

function residentBytes({ pid }: Child): number {
  return readResidentBytes(pid) ?? Number.NaN;
}

const share = (measured: Measurement, name: string) =>
  (measured.cpuMs.get(name) ?? Number.NaN) / measured.completed;
const cpuOf = (measured: Measurement) => roles.slice(1).reduce((sum, role) => sum + share(measured, role), 0);
const rateOf = ({ completed, elapsedMs }: Measurement) => (completed * 1000) / elapsedMs;

function report(plan: Plan, costs: Costs, looks: Looks): ScenarioReport {
  const cost = ratios(costs.get('journal') ?? [], costs.get('without') ?? [], cpuOf);
  const kept = ratios(
    looks.throughput.get('with a console') ?? [],
    looks.throughput.get('without') ?? [],
    rateOf,
  );
  const goals: Goal[] = [
    {
      what: 'CPU of a response, with the journal to without',
      goal: 'at most 1.10',
      rounds: cost,
      isMet: atMost(1.1),
    },
    {
      what: 'requests/s that a console costs the api, in %',
      goal: 'at most 5',
      rounds: kept.map((each) => (1 - each) * 100),
      isMet: atMost(5),
    },
    {
      what: 'a page of the list, p99 ms',
      goal: 'at most 100',
      rounds: [percentile(looks.listMs, 0.99)],
      isMet: atMost(100),
    },
  ];
  return {
    title: 'The journal and the console',
    description:
      'Synchronous requests of one token, 16 at a time, with the journal and without it. Then a console at an api whose ' +
      `journal has ${plan.stored} responses, of which ${eventsPerSecond} events a second tell more: pages of the list and its ` +
      'facets with filters in turns, one after the other. At last, with all of them in the index, the requests that the api answers while a ' +
      'console follows all rows and asks for its page and its facets every second, compared with those while nobody looks; each ' +
      'request makes two or three entries of the journal.',
    tables: [
      goalTable(goals),
      costTable('A synchronous response; CPU in µs', costs),
      costTable(
        'A synchronous response, while somebody looks and while nobody does; CPU in µs',
        looks.throughput,
      ),
      lookTable(looks),
    ],
  };
}

function costTable(title: string, costs: ReadonlyMap<string, readonly Measurement[]>): Table {
  return {
    title,
    columns: ['', 'requests/s', ...roles.map((role) => `${role} CPU`), 'all CPU'],
    rows: [...costs].map(([name, rounds]) => [
      name,
      spreadFigure(spread(rounds.map(rateOf))),
      ...cpuCells(rounds, roles, ({ completed }) => completed),
    ]),
  };
}

function lookTable({ firstMs, loadedMs, listMs, facetMs, followed, memory, redisBytes }: Looks): Table {
  const mib = (bytes: number) => figure(bytes / 1024 / 1024);
  return {
    title: 'The index',
    columns: ['', 'measured'],
    rows: [
      ['first page, the thread started for it, ms', figure(firstMs)],
      ['until everything was read, ms', figure(loadedMs)],
      ['a page of the list, p50 ms', figure(median(listMs))],
      ['a page of the list, p99 ms', figure(percentile(listMs, 0.99))],
      ['facets, p50 ms', figure(median(facetMs))],
      ['facets, p99 ms', figure(percentile(facetMs, 0.99))],
      ['told to who follows, KiB', figure(followed / 1024)],
      ['memory of the api before, MiB', mib(memory.before)],
      ['memory of the api after, MiB', mib(memory.after)],
      ['the journal in Redis, MiB', mib(redisBytes)],
    ],
  };
}
