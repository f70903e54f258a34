import { atLeast, atMost, type Goal, goalTable } from '../goals.ts';
import { type Point, renderPlot } from '../plot/plot.ts';
import { readResponses } from '../read-responses.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import type { BenchService, BenchTenant } from '../service.ts';
import { onStage, type Stage } from '../stage.ts';
import { spread } from '../statistics.ts';
import { spreadFigure, type Table } from '../table.ts';
import type { Flow, Sent } from '../traffic/flow.ts';
import { pacedFlow } from '../traffic/flows.ts';
import { pacedModelName } from '../upstream/paced-model.ts';
import { until } from '../until.ts';
import { type Counted, runningSums, windowSums } from '../windows.ts';

const apis = 4;
const windowMs = 60_000;

/** How many times the limit is asked for. */
const excess = 10;

const model = { serviceMs: 0, slots: 0, tokens: 24 };

/** About as many tokens as the upstream counts for it, so that an estimate of the service comes near the truth. */
const input = 'Count to three.';

/** What the upstream says that a request and its answer are. */
const tokensEach = 8 + model.tokens;

const plans = {
  full: { tenants: 3, perMinute: 300, durationMs: 75_000 },
  quick: { tenants: 1, perMinute: 60, durationMs: 8_000 },
};

type Kind = 'requests' | 'tokens';

const kinds: readonly Kind[] = ['requests', 'tokens'];

/** What was admitted for one tenant, by the service's own times of acceptance. */
interface Admitted {
  kind: Kind;
  limit: number;
  asked: number;
  counted: Counted[];
  from: number;
  to: number;
}

/** Limits of a minute over several api processes, each asked for ten times as much. */
export const rateLimits: Scenario = {
  name: 'rate-limits',
  budgetMs: 180_000,
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    const tenants = kinds.flatMap((kind) =>
      Array.from({ length: plan.tenants }, (_, at) => limitedTenant(kind, at, plan.perMinute)),
    );
    const admitted = await onStage(context, (stage) => press(context, stage, tenants, plan));
    return report(admitted, plan);
  },
};

interface LimitedTenant extends BenchTenant {
  kind: Kind;
  limit: number;
}

function limitedTenant(kind: Kind, number: number, perMinute: number): LimitedTenant {
  const limit = kind === 'requests' ? perMinute : perMinute * tokensEach;
  const limits = kind === 'requests' ? { requestsPerMinute: limit } : { tokensPerMinute: limit };
  return { name: `${kind}${number}`, kind, limit, limits };
}

async function press(
  context: ScenarioContext,
  stage: Stage,
  tenants: readonly LimitedTenant[],
  { perMinute, durationMs }: { perMinute: number; durationMs: number },
): Promise<Admitted[]> {
  const service = await stage.start({
    models: [pacedModelName(model)],
    concurrency: 32,
    tenants: tenants.map(({ name, limits = {} }) => ({ name, limits })),
    apis,
  });
  await service.startWorker();
  const everyMs = windowMs / (perMinute * excess);
  const count = Math.round(durationMs / everyMs);
  const flows = tenants.map(({ name }): Flow => {
    const flow = pacedFlow(service, { name, model, everyMs, count, lastsMs: durationMs + 5_000 });
    return { ...flow, input, request: { ...flow.request, max_output_tokens: model.tokens } };
  });
  context.progress.say(`rate limits: ${excess} times as much as is allowed, for ${durationMs / 1000} s`);
  const sent = await stage.traffic.run(flows);
  context.progress.say('rate limits: reading what was accepted');
  const admitted: Admitted[] = [];
  for (const [at, tenant] of tenants.entries()) {
    admitted.push(await admittedOf(context, service, tenant, sent[at] ?? []));
  }
  return admitted;
}

async function admittedOf(
  { redis, deadline }: ScenarioContext,
  service: BenchService,
  { name, kind, limit }: LimitedTenant,
  sent: readonly Sent[],
): Promise<Admitted> {
  const strange = sent.find(({ status }) => ![200, 429, 503].includes(status));
  if (strange) throw new Error(`a request of ${name} was answered with ${strange.status}`);
  const ids = sent.flatMap(({ status, id }) => (status === 200 && id !== undefined ? [id] : []));
  // The list of a tenant's responses is sorted by the time of their accept, by the clock that the limits go by.
  const acceptedAt = await redis.scores(service.keyPrefix, `stored:${name}`);
  const amounts = kind === 'tokens' ? await tokensOf(service, name, ids, deadline) : ids.map(() => 1);
  const counted = ids.map((id, at): Counted => {
    const time = acceptedAt.get(id);
    if (time === undefined) throw new Error(`the list of ${name} does not have ${id}`);
    return { at: wholeSecond(time), amount: amounts[at] ?? Number.NaN };
  });
  return {
    kind,
    limit,
    asked: sent.length * (kind === 'tokens' ? tokensEach : 1),
    counted,
    from: counted.reduce((first, { at }) => Math.min(first, at), Number.POSITIVE_INFINITY),
    to: sent.at(-1)?.at ?? Number.NaN,
  };
}

/** The windows of a limit begin and end with whole seconds of the store's clock. */
function wholeSecond(time: number): number {
  return Math.floor(time / 1000) * 1000;
}

/** The tokens that each response took, which its end says. */
async function tokensOf(
  service: BenchService,
  tenant: string,
  ids: readonly string[],
  deadline: number,
): Promise<number[]> {
  let tokens: (number | undefined)[] = [];
  await until(
    'every response has its usage',
    async () => {
      const read = await readResponses(
        service,
        ids.map((id) => ({ id, tenant })),
      );
      tokens = read.map((one) => one?.usage?.total_tokens);
      return tokens.every((one) => one !== undefined);
    },
    deadline,
  );
  return tokens.map((one) => one ?? Number.NaN);
}

/** What the emptiest window has at least, because a request can be admitted only when it comes. */
const leastShare = 0.95;

function report(
  admitted: readonly Admitted[],
  { tenants, perMinute, durationMs }: (typeof plans)['full'],
): ScenarioReport {
  const sums = (kind: Kind) =>
    admitted
      .filter((one) => one.kind === kind)
      .map((one) => {
        const { most, fewest } = windowSums(one.counted, { lengthMs: windowMs, from: one.from, to: one.to });
        return { most: most / one.limit, fewest: fewest / one.limit };
      });
  return {
    title: 'Limits of a minute',
    description:
      `${tenants} tenants with a limit of requests (${perMinute.toLocaleString('en-US')} a minute) and ${tenants} with one ` +
      `of tokens (${(perMinute * tokensEach).toLocaleString('en-US')} a minute, ${tokensEach} for each request and its ` +
      `answer) each ask for ${excess} times as much for ${durationMs / 1000} s, over ${apis} api processes in turns. What was ` +
      'admitted is summed in every window of 60 whole seconds, which are those of the limit, by the times of acceptance that ' +
      'the service keeps. ' +
      'Figures are shares of the limit; the range is that of the tenants, which all ran at the same time.',
    tables: [
      goalTable(
        kinds.flatMap((kind): Goal[] => [
          {
            what: `${kind} in the fullest window`,
            goal: 'at most 1',
            rounds: sums(kind).map(({ most }) => most),
            isMet: atMost(1),
          },
          {
            what: `${kind} in the emptiest window`,
            goal: `at least ${leastShare}`,
            rounds: sums(kind).map(({ fewest }) => fewest),
            isMet: atLeast(leastShare),
          },
        ]),
      ),
      totalTable(admitted),
    ],
    pictures: [
      {
        file: 'rate-limits.svg',
        alt: 'What was admitted in the last 60 s, in percent of the limit',
        svg: renderPlot({
          title: 'Admitted in the last 60 s',
          xLabel: 'seconds',
          yLabel: '% of the limit',
          series: [...kinds.map((kind) => admittedSeries(admitted, kind)), limitSeries(durationMs)],
        }),
      },
    ],
  };
}

function totalTable(admitted: readonly Admitted[]): Table {
  const total = (kind: Kind, of: (one: Admitted) => number) =>
    spreadFigure(spread(admitted.filter((one) => one.kind === kind).map(of)));
  return {
    title: 'For one tenant, in the whole run',
    columns: ['', 'asked for', 'admitted'],
    rows: kinds.map((kind) => [
      kind,
      total(kind, ({ asked }) => asked),
      total(kind, ({ counted }) => counted.reduce((sum, { amount }) => sum + amount, 0)),
    ]),
  };
}

function admittedSeries(admitted: readonly Admitted[], kind: Kind) {
  const one = admitted.find((tenant) => tenant.kind === kind);
  const sums = one
    ? runningSums(one.counted, { lengthMs: windowMs, from: one.from, to: one.to, stepMs: 250 })
    : [];
  const points = sums.map(
    ([at, sum]): Point => [(at - (one?.from ?? 0)) / 1000, (sum / (one?.limit ?? 1)) * 100],
  );
  return { name: kind, style: 'line' as const, points };
}

function limitSeries(durationMs: number) {
  const points: Point[] = [
    [0, 100],
    [durationMs / 1000, 100],
  ];
  return { name: 'limit', style: 'goal' as const, points };
}
