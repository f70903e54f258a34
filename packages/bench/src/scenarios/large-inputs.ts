import { randomBytes } from 'node:crypto';
import { cpuOf } from '../cpu-times.ts';
import { atMost, goalTable } from '../goals.ts';
import type { LoadOrder, Target } from '../load/order.ts';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { askMeanwhile, type Neighbour } from '../neighbour.ts';
import { onService } from '../on-service.ts';
import { alternate } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { type BenchService, processesOf } from '../service.ts';
import { median, percentile, spread, sum } from '../statistics.ts';
import { cpuCells, figure, spreadFigure } from '../table.ts';
import { wholeTarget } from '../targets.ts';

const model = { tokens: 1, intervalMs: 0 };
const slots = 64;
/** As many bodies of this size as a tenant may have under way. */
const concurrency = 4;
const roles = ['load', 'api', 'worker', 'redis', 'upstream'];
const ownRoles = ['api', 'worker', 'redis'];

/** The most CPU of the api for a kilobyte of a body, in microseconds. */
const mostPerKb = 4;

interface Input {
  name: string;
  input: unknown;
  /** How many are sent in a round. */
  count: number;
}

interface Round extends Measurement {
  /** Short requests of another tenant meanwhile. */
  neighbour: Neighbour;
}

const plans = {
  full: { rounds: 4, share: 1, imageBytes: 10_000_000, documentBytes: 1_000_000 },
  quick: { rounds: 1, share: 0.5, imageBytes: 500_000, documentBytes: 100_000 },
};

/** Inputs as large as documents and photographs, with a neighbour who asks short questions. */
export const largeInputs: Scenario = {
  name: 'large-inputs',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    const own = { models: [model], concurrency: slots, tenants: 2 };
    return onService(context, own, async (service) => {
      const worker = await service.startWorker();
      const processes = processesOf(service, worker, context.upstream);
      const targets = new Map<string, Target>();
      const runs = new Map<string, () => Promise<Round>>();
      for (const { name, input, count } of inputsOf(plan)) {
        const target = wholeTarget(service, model, { input });
        targets.set(name, target);
        const order = { target, concurrency, durationMs: 30_000, count: Math.ceil(count * plan.share) };
        context.progress.say(`large inputs: warming up with ${name}`);
        await runLoad(context.load, order);
        runs.set(name, () => runBeside(context, service, { name, order, processes }));
      }
      return report(await alternate(runs, plan.rounds), targets);
    });
  },
};

function inputsOf({ imageBytes, documentBytes }: (typeof plans)['full']): Input[] {
  const line = 'A document has many lines, and this one says little; it is here for its length.\n';
  const image = `data:image/png;base64,${randomBytes(imageBytes).toString('base64')}`;
  return [
    { name: 'a question', input: 'What can be seen here?', count: 400 },
    {
      name: `a document of ${documentBytes / 1e6} MB`,
      input: line.repeat(documentBytes / line.length),
      count: 40,
    },
    {
      name: `an image of ${imageBytes / 1e6} MB`,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What can be seen here?' },
            { type: 'input_image', image_url: image, detail: 'auto' },
          ],
        },
      ],
      count: 8,
    },
  ];
}

async function runBeside(
  { load, redis, progress }: ScenarioContext,
  service: BenchService,
  {
    name,
    order,
    processes,
  }: { name: string; order: LoadOrder; processes: ReadonlyMap<string, { pid: number }> },
): Promise<Round> {
  progress.say(`large inputs: ${name}`);
  const target = wholeTarget({ ...service, key: service.keys[1] ?? '' }, model);
  const measured = measure(order, { load, redis, processes });
  const [round, neighbour] = await Promise.all([measured, askMeanwhile(target, measured)]);
  return { ...round, neighbour };
}

function report(results: ReadonlyMap<string, Round[]>, targets: ReadonlyMap<string, Target>): ScenarioReport {
  const kb = (name: string) => (targets.get(name)?.body.length ?? Number.NaN) / 1_000;
  const [first = '', ...large] = results.keys();
  const base = results.get(first) ?? [];
  const cost = (round: Round | undefined, of: readonly string[]) =>
    round === undefined ? Number.NaN : (cpuOf(round, of) * 1_000) / round.completed;
  /** What each kilobyte adds to the cost of a question, in each round. */
  const perKb = (name: string, of: readonly string[]) =>
    (results.get(name) ?? []).map(
      (round, at) => (cost(round, of) - cost(base[at], of)) / (kb(name) - kb(first)),
    );
  return {
    title: 'Large inputs',
    description:
      `A question, a document as text, and an image as a data URL, ${concurrency} at a time, each as the whole input of a synchronous response that is stored. Meanwhile another tenant sends one short ` +
      `question after the other. One api and one worker; a first round of each warms them up and does not count. Every byte is sent to the upstream as well.`,
    tables: [
      goalTable(
        large.map((name) => ({
          what: `CPU of the api for a KB of ${name}, µs`,
          goal: `at most ${mostPerKb}`,
          rounds: perKb(name, ['api']),
          isMet: atMost(mostPerKb),
        })),
      ),
      {
        title: 'CPU in µs a request',
        columns: ['', 'KB', 'p50 ms', ...roles.map((role) => `${role} CPU`), 'all CPU'],
        rows: [...results].map(([name, rounds]) => [
          name,
          figure(kb(name)),
          figure(median(rounds.map(({ latencyMs }) => latencyMs.p50))),
          ...cpuCells(rounds, roles, ({ completed }) => completed),
        ]),
      },
      {
        title: 'CPU in µs for each KB beyond a question',
        columns: ['', ...ownRoles, 'together'],
        rows: large.map((name) => [
          name,
          ...ownRoles.map((role) => figure(median(perKb(name, [role])))),
          spreadFigure(spread(perKb(name, ownRoles))),
        ]),
      },
      {
        title: 'A short question of another tenant meanwhile',
        columns: ['beside', 'p50 ms', 'p99 ms', 'refused'],
        rows: [...results].map(([name, rounds]) => [
          name,
          ...[0.5, 0.99].map((share) =>
            spreadFigure(spread(rounds.map(({ neighbour }) => percentile(neighbour.tookMs, share)))),
          ),
          String(sum(rounds.map(({ neighbour }) => neighbour.refused))),
        ]),
      },
    ],
  };
}
