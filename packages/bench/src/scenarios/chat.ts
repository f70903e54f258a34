import { cpuOf } from '../cpu-times.ts';
import type { LoadOrder } from '../load/order.ts';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { onService } from '../on-service.ts';
import { alternate, ratios } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { type BenchService, processesOf } from '../service.ts';
import { median, spread, sum } from '../statistics.ts';
import { cpuCells, figure, spreadFigure } from '../table.ts';
import { streamTarget } from '../targets.ts';

/** A short answer at twenty tokens a second. */
const model = { tokens: 20, intervalMs: 50 };
const slots = 512;
const roles = ['load', 'api', 'worker', 'redis', 'upstream'];
const ownRoles = ['api', 'worker', 'redis'];

const plans = {
  full: { tenants: 1_000, rounds: 3, roundMs: 20_000, thinkMs: 9_000 },
  quick: { tenants: 20, rounds: 1, roundMs: 2_500, thinkMs: 400 },
};

type Plan = (typeof plans)['full'];

/** People who chat, each a tenant, beside as many people of one tenant. */
export const chat: Scenario = {
  name: 'chat',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    // The first tenant is the one that all of the other chats belong to.
    const own = { models: [model], concurrency: slots, tenants: 1 + plan.tenants };
    return onService(context, own, async (service) => report(await compete(context, service, plan), plan));
  },
};

async function compete(
  { load, redis, upstream, progress }: ScenarioContext,
  service: BenchService,
  { tenants, rounds, roundMs, thinkMs }: Plan,
): Promise<Map<string, Measurement[]>> {
  const worker = await service.startWorker();
  const processes = processesOf(service, worker, upstream);
  const [key = '', ...keys] = service.keys;
  const callers = new Map([
    [`${tenants.toLocaleString('en-US')} tenants`, keys],
    ['one tenant', keys.map(() => key)],
  ]);
  const runs = new Map<string, () => Promise<Measurement>>();
  for (const [name, each] of callers) {
    const order: LoadOrder = {
      target: streamTarget(service, model),
      concurrency: tenants,
      authorizations: each.map((one) => `Bearer ${one}`),
      conversation: name,
      durationMs: roundMs,
      pauseMs: thinkMs,
      retryMs: 1_000,
      staggerMs: thinkMs + model.tokens * model.intervalMs,
    };
    progress.say(`chat: warming up ${name}`);
    await runLoad(load, order);
    runs.set(name, () => {
      progress.say(`chat: ${name}`);
      return measure(order, { load, redis, processes });
    });
  }
  return alternate(runs, rounds);
}

function report(
  results: ReadonlyMap<string, Measurement[]>,
  { tenants, roundMs, thinkMs }: Plan,
): ScenarioReport {
  const base = results.get('one tenant') ?? [];
  const of = (rounds: readonly Measurement[], figureOf: (round: Measurement) => number) =>
    spreadFigure(spread(rounds.map(figureOf)));
  return {
    title: 'A chat of many tenants',
    description:
      `${tenants.toLocaleString('en-US')} people, each in a conversation by \`previous_response_id\`: a short question, ${model.tokens} tokens at ${1_000 / model.intervalMs} a second as a stream, ` +
      `and ${thinkMs / 1_000} s until the next question. Each is a tenant with its own key, or all are of one tenant; both take turns, and conversations go on from round to round. ` +
      `A turn that is refused with 503 is sent again a second later. One api and one worker, and a first round of ${roundMs / 1_000} s of each that does not count. The ratio is that of the CPU of api, worker and Redis for a turn, to one tenant in the same round.`,
    tables: [
      {
        title: 'CPU in µs a turn',
        columns: [
          '',
          'turns/s',
          'refused',
          'first token p50 ms',
          'first token p99 ms',
          'between tokens p99 ms',
          ...roles.map((role) => `${role} CPU`),
          'all CPU',
          'ratio',
        ],
        rows: [...results].map(([name, rounds]) => [
          name,
          figure(median(rounds.map(({ completed, elapsedMs }) => (completed * 1_000) / elapsedMs))),
          String(sum(rounds.map(({ refused }) => refused))),
          of(rounds, ({ firstMarkMs }) => firstMarkMs.p50),
          of(rounds, ({ firstMarkMs }) => firstMarkMs.p99),
          of(rounds, ({ gapMs }) => gapMs.p99),
          ...cpuCells(rounds, roles, ({ completed }) => completed),
          spreadFigure(spread(ratios(rounds, base, (round) => cpuOf(round, ownRoles) / round.completed))),
        ]),
      },
    ],
  };
}
