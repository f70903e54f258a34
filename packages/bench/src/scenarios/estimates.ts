import { setTimeout as pause } from 'node:timers/promises';
import { atLeast, type Goal, goalTable } from '../goals.ts';
import { now } from '../now.ts';
import { type Point, renderPlot } from '../plot/plot.ts';
import {
  compare,
  type Forecast,
  positionError,
  type Prediction,
  shareWithin,
  startError,
} from '../predictions.ts';
import { readResponses } from '../read-responses.ts';
import { alternate } from '../rounds.ts';
import type { Picture, Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import type { BenchService } from '../service.ts';
import { nameOf } from '../shares.ts';
import { onStage, type Stage } from '../stage.ts';
import { percentile, spread } from '../statistics.ts';
import { spreadFigure, type Table } from '../table.ts';
import type { Sent } from '../traffic/flow.ts';
import { burstFlow, pacedFlow } from '../traffic/flows.ts';
import { pacedModelName, releaseMs } from '../upstream/paced-model.ts';
import { until } from '../until.ts';

/** A slot is released every 16 ms. */
const model = { serviceMs: 320, slots: 20, tokens: 1 };

/** The tenants of what waits, with different shares. */
const tenants = [
  { name: 'one', weight: 1 },
  { name: 'two', weight: 2 },
];
const newcomer = 'newcomer';

const plans = {
  full: { rounds: 3, each: 250, headStartMs: 2_000, everyMs: 1_000 },
  quick: { rounds: 1, each: 80, headStartMs: 500, everyMs: 500 },
};

type Plan = (typeof plans)['full'];

/** How many responses are looked at in each turn. */
const looks = 12;

/** Another tenant's requests: a twelfth of what the model serves. */
const newcomerEveryMs = 200;

type Alternative = 'nothing new comes' | 'newcomers';

/** Every prediction of one round. */
type Round = readonly Prediction[];

/** What a waiting response is told of its place and its start, beside what then happens. */
export const estimates: Scenario = {
  name: 'estimates',
  budgetMs: 180_000,
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    return onStage(context, async (stage) => {
      const run = (name: Alternative) => () => {
        context.progress.say(`estimates: ${name}`);
        return predict(context, stage, plan, name);
      };
      const names: Alternative[] = ['nothing new comes', 'newcomers'];
      const results = await alternate(new Map(names.map((name) => [name, run(name)])), plan.rounds);
      return report(results, plan);
    });
  },
};

async function predict(
  { deadline }: ScenarioContext,
  stage: Stage,
  { each, headStartMs, everyMs }: Plan,
  alternative: Alternative,
): Promise<Round> {
  const { upstream, traffic } = stage;
  const service = await stage.start({
    models: [pacedModelName(model)],
    concurrency: model.slots,
    modelConcurrency: model.slots,
    tenants: [...tenants, { name: newcomer }],
  });
  await upstream.forget();
  const waiting: Sent[] = [];
  for (const { name } of tenants) {
    const lastsMs = deadline - performance.now();
    waiting.push(...(await traffic.fill(burstFlow(service, { name, model, count: each, lastsMs }))));
  }
  await service.startWorker();
  const drainMs = waiting.length * releaseMs(model);
  const count = Math.floor(drainMs / newcomerEveryMs);
  const others =
    alternative === 'newcomers'
      ? traffic.fill(
          pacedFlow(service, {
            name: newcomer,
            model,
            everyMs: newcomerEveryMs,
            count,
            lastsMs: drainMs + 5_000,
          }),
        )
      : Promise.resolve([]);
  others.catch(() => undefined); // Awaited below, when the looks are over.
  const forecasts: Forecast[] = [];
  const startedAt = performance.now();
  for (let turn = 0; performance.now() < deadline; turn += 1) {
    await pause(headStartMs + turn * everyMs - (performance.now() - startedAt));
    const started = new Set((await upstream.log()).map(({ tag }) => tag));
    const left = waiting.filter(({ tag }) => !started.has(tag));
    if (left.length === 0) break;
    forecasts.push(...(await look(service, left)));
  }
  const total = waiting.length + (await others).length;
  await until('every request has ended', async () => (await upstream.count()).ended >= total, deadline);
  const predictions = compare(forecasts, await upstream.log());
  await stage.end(service);
  return predictions;
}

/** Asks for some of the responses, evenly over the order in which they came. */
async function look(service: BenchService, left: readonly Sent[]): Promise<Forecast[]> {
  const step = Math.max(1, left.length / looks);
  const chosen = Array.from({ length: Math.min(looks, left.length) }, (_, at) => left[Math.floor(at * step)]);
  const known = chosen.flatMap((one) => (one?.id === undefined ? [] : [{ id: one.id, tag: one.tag }]));
  const at = now();
  const read = await readResponses(
    service,
    known.map(({ id, tag }) => ({ id, tenant: nameOf(tag) })),
  );
  return known.flatMap(({ tag }, place): Forecast[] => {
    const body = read[place];
    if (body?.status !== 'queued') return [];
    const seconds = body.estimated_start_at ?? undefined;
    return [
      {
        tag,
        at,
        position: body.queue_position ?? undefined,
        startsAt: seconds === undefined ? undefined : seconds * 1000,
      },
    ];
  });
}

/** How far off an estimate may be: a part of the truth, or a little. The time on the wire has whole seconds. */
const part = 0.2;
const small = { places: 5, ms: 1_000 };
const leastGood = 90;

type Results = ReadonlyMap<Alternative, readonly Round[]>;

function report(results: Results, { each, everyMs }: Plan): ScenarioReport {
  const goals = [...results].flatMap(([name, rounds]): Goal[] => [
    {
      what: `${name}: positions within ${part * 100} % or ${small.places} places, in %`,
      goal: `at least ${leastGood} %`,
      rounds: rounds.map((round) => 100 * shareWithin(placesOf(round), { part, small: small.places })),
      isMet: atLeast(leastGood),
    },
    {
      what: `${name}: starts within ${part * 100} % of the wait or ${small.ms / 1000} s, in %`,
      goal: `at least ${leastGood} %`,
      rounds: rounds.map((round) => 100 * shareWithin(waitsOf(round), { part, small: small.ms })),
      isMet: atLeast(leastGood),
    },
  ]);
  return {
    title: 'The error of an estimate',
    description:
      `${each} background responses of each of two tenants wait, with the weights 1 and 2, and a slot is released every ` +
      `${releaseMs(model)} ms. Every ${everyMs / 1000} s, ${looks} of them are read, and their \`queue_position\` and ` +
      '`estimated_start_at` are compared with what the upstream then sees. The newcomers are requests of a third tenant, ' +
      `one every ${newcomerEveryMs} ms. A response without an estimate counts as wrong.`,
    tables: [goalTable(goals), errorTable(results)],
    pictures: [startPicture(results), positionPicture(results)],
  };
}

function placesOf(round: Round) {
  return round.map((one) => ({ error: positionError(one), truth: one.truePosition }));
}

function waitsOf(round: Round) {
  return round.map((one) => ({ error: startError(one), truth: one.trueStart - one.at }));
}

function errorTable(results: Results): Table {
  const size = (rounds: readonly Round[], error: (one: Prediction) => number, share: number) =>
    spreadFigure(
      spread(
        rounds.map((round) => {
          const known = round.map((one) => Math.abs(error(one))).filter((value) => !Number.isNaN(value));
          return percentile(known, share);
        }),
      ),
    );
  const seconds = (one: Prediction) => startError(one) / 1000;
  return {
    title: 'Size of the error, where there is an estimate',
    columns: [
      '',
      'looks',
      'with a position',
      'places p50',
      'places p90',
      'with a start',
      'start p50 s',
      'start p90 s',
    ],
    rows: [...results].map(([name, rounds]) => {
      const all = rounds.flat();
      return [
        name,
        String(all.length),
        String(all.filter(({ position }) => position !== undefined).length),
        size(rounds, positionError, 0.5),
        size(rounds, positionError, 0.9),
        String(all.filter(({ startsAt }) => startsAt !== undefined).length),
        size(rounds, seconds, 0.5),
        size(rounds, seconds, 0.9),
      ];
    }),
  };
}

function startPicture(results: Results): Picture {
  return scatter(results, {
    file: 'estimates-start.svg',
    title: 'Time until the start',
    unit: 'seconds',
    point: ({ at, startsAt = Number.NaN, trueStart }) => [(trueStart - at) / 1000, (startsAt - at) / 1000],
  });
}

function positionPicture(results: Results): Picture {
  return scatter(results, {
    file: 'estimates-position.svg',
    title: 'Position in the queue',
    unit: 'places',
    point: ({ position = Number.NaN, truePosition }) => [truePosition, position],
  });
}

interface Scatter {
  file: string;
  title: string;
  unit: string;
  point: (one: Prediction) => Point;
}

function scatter(results: Results, { file, title, unit, point }: Scatter): Picture {
  const most = Math.max(1, ...[...results.values()].flat(2).map((one) => point(one)[0]));
  const svg = renderPlot({
    title,
    xLabel: `${unit}, as it happened`,
    yLabel: `${unit}, as estimated`,
    series: [
      ...[...results].map(([name, rounds]) => ({
        name,
        style: 'dots' as const,
        points: rounds.flat().map(point),
      })),
      {
        name: 'right',
        style: 'goal',
        points: [
          [0, 0],
          [most, most],
        ],
      },
    ],
  });
  return { file, alt: `${title}: the estimate by what happened`, svg };
}
