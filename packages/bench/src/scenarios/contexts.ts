import type { LoadOrder, Target } from '../load/order.ts';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { onService } from '../on-service.ts';
import { alternate } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { type BenchService, processesOf } from '../service.ts';
import { median, spread, sum } from '../statistics.ts';
import { cpuCells, figure, spreadFigure } from '../table.ts';
import { wholeTarget } from '../targets.ts';

const slots = 64;
const concurrency = 16;
const model = { tokens: 1, intervalMs: 0 };
const roles = ['load', 'api', 'worker', 'redis', 'upstream'];
/** The processes that a context passes through; the others send it or take it. */
const ownRoles = ['api', 'worker', 'redis'];

const plans = {
  full: { rounds: 5, roundMs: 1_500, warmUpMs: 3_000 },
  quick: { rounds: 1, roundMs: 300, warmUpMs: 300 },
};

/** A turn of a conversation: a question of some lines. */
const question = 'And what would you say about the part that we left out before? '.repeat(5);

/** Turns before the measured one, and characters of input of one without any. */
const chains = [0, 10, 50];
const inputs = [20_000, 100_000];

/** The cost of a long conversation and of a large input, beside a short request. */
export const contexts: Scenario = {
  name: 'contexts',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const { load, redis, quick, progress } = context;
    return onService(context, { models: [model], concurrency: slots }, async (service) => {
      const worker = await service.startWorker();
      const processes = processesOf(service, worker, context.upstream);
      progress.say('contexts: writing conversations');
      const targets = new Map<string, Target>();
      for (const turns of chains) {
        const previous = turns === 0 ? {} : { previous_response_id: await conversation(service, turns) };
        targets.set(`a turn behind ${turns}`, wholeTarget(service, model, { input: question, ...previous }));
      }
      for (const characters of inputs) {
        const input = question.repeat(Math.ceil(characters / question.length)).slice(0, characters);
        targets.set(`an input of ${characters / 1_000} KB`, wholeTarget(service, model, { input }));
      }
      const { rounds, roundMs, warmUpMs } = quick ? plans.quick : plans.full;
      const runs = new Map<string, () => Promise<Measurement>>();
      for (const [name, target] of targets) {
        const order: LoadOrder = { target, concurrency, durationMs: roundMs };
        progress.say(`contexts: warming up ${name}`);
        await runLoad(load, { ...order, durationMs: warmUpMs });
        runs.set(name, () => {
          progress.say(`contexts: ${name}`);
          return measure(order, { load, redis, processes });
        });
      }
      return report(await alternate(runs, rounds));
    });
  },
};

/** Has a conversation of so many turns, and returns the id of the last. */
async function conversation(service: BenchService, turns: number): Promise<string> {
  let last: string | undefined;
  for (let turn = 0; turn < turns; turn += 1) {
    const { origin, path, headers, body } = wholeTarget(service, model, {
      input: question,
      ...(last !== undefined && { previous_response_id: last }),
    });
    const answer = await fetch(`${origin}${path}`, { method: 'POST', headers, body });
    if (!answer.ok) throw new Error(`a turn was refused: ${await answer.text()}`);
    last = ((await answer.json()) as { id: string }).id; // as the contract says
  }
  return last ?? '';
}

function report(results: ReadonlyMap<string, Measurement[]>): ScenarioReport {
  const [first, largeInput] = [results.get('a turn behind 0') ?? [], results.get('an input of 20 KB') ?? []];
  return {
    title: 'Conversations and inputs',
    description:
      `A turn of ${question.length} characters that continues a stored conversation of turns like it by ` +
      '`previous_response_id`, and inputs that come with the request. The upstream is sent all of it each time. ' +
      `${concurrency} at a time, one api and one worker; each request is warmed up for ${plans.full.warmUpMs / 1_000} s. The ratio is that of the ` +
      'CPU of api, worker and Redis, of a turn to one behind none, and of an input to one of 20 KB.',
    tables: [
      {
        title: 'CPU in µs a request',
        columns: ['', 'p50 ms', ...roles.map((role) => `${role} CPU`), 'all CPU', 'ratio'],
        rows: [...results].map(([name, rounds]) => {
          const base = name.startsWith('an input') ? largeInput : first;
          const ratio = rounds.map((round, at) => ownCpu(round) / ownCpu(base[at]));
          return [
            name,
            figure(median(rounds.map(({ latencyMs }) => latencyMs.p50))),
            ...cpuCells(rounds, roles, ({ completed }) => completed),
            spreadFigure(spread(ratio)),
          ];
        }),
      },
    ],
  };
}

/** CPU of api, worker and Redis for a request, in milliseconds. */
function ownCpu(round: Measurement | undefined): number {
  if (!round) return Number.NaN;
  return sum(ownRoles.map((role) => round.cpuMs.get(role) ?? Number.NaN)) / round.completed;
}
