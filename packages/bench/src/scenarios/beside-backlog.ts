import type { ScenarioContext } from '../scenario.ts';
import type { BenchService, BenchTenant } from '../service.ts';
import { alternate } from '../rounds.ts';
import { onStage, type Stage } from '../stage.ts';
import type { Flow, Sent } from '../traffic/flow.ts';
import { burstFlow } from '../traffic/flows.ts';
import { type Arrival, type PacedModel, pacedModelName, releaseMs } from '../upstream/paced-model.ts';
import { until } from '../until.ts';
import { now } from '../now.ts';
import { setTimeout as pause } from 'node:timers/promises';

export type Company = 'alone' | 'beside the backlog';

/** What a flow saw in one round. */
export interface Watched {
  sent: Sent[];
  log: Arrival[];
  /** When the round was over. */
  until: number;
}

export interface BesideBacklog {
  /** The name of the scenario, for the progress. */
  name: string;
  model: PacedModel;
  tenants: readonly BenchTenant[];
  /** The tenant that the backlog belongs to. */
  backlogOf: string;
  plan: BesidePlan;
  /** The flow that is watched. */
  flow: (service: BenchService, shape: FlowShape) => Flow;
}

/** What a flow of a round must have. Its name is unique among the rounds. */
export type FlowShape = Pick<Flow, 'name' | 'count' | 'everyMs' | 'lastsMs'>;

export interface BesidePlan {
  rounds: number;
  backlog: number;
  everyMs: number;
  roundMs: number;
}

/** The beginning of a flow that is not watched, while slots come to be released evenly and code is compiled. */
const leadMs = 1_000;

/** How much longer than it sends a flow is watched. */
export const graceMs = 1_000;

/**
 * Watches a flow through an empty system and beside a backlog that is larger than what all rounds drain of it. The two
 * have a service each, whose worker runs in its own rounds only.
 */
export function runBesideBacklog(
  context: ScenarioContext,
  options: BesideBacklog,
): Promise<Map<Company, Watched[]>> {
  const { model, tenants, backlogOf, plan, name } = options;
  return onStage(context, async (stage) => {
    const start = () =>
      stage.start({
        models: [pacedModelName(model)],
        concurrency: model.slots,
        modelConcurrency: model.slots,
        tenants,
      });
    const empty = await start();
    const busy = await start();
    context.progress.say(`${name}: filling the queue`);
    const lastsMs = context.deadline - performance.now();
    const { backlog: count } = plan;
    await stage.traffic.fill(burstFlow(busy, { name: 'backlog', tenant: backlogOf, model, count, lastsMs }));
    let round = 0;
    const run = (company: Company, service: BenchService) => async () => {
      round += 1;
      context.progress.say(`${name}: ${company}`);
      return watch(context, stage, service, options, `watched${round}`);
    };
    return alternate(
      new Map([
        ['alone', run('alone', empty)],
        ['beside the backlog', run('beside the backlog', busy)],
      ]),
      plan.rounds,
    );
  });
}

async function watch(
  { deadline }: ScenarioContext,
  { upstream, traffic }: Stage,
  service: BenchService,
  { flow, plan }: BesideBacklog,
  name: string,
): Promise<Watched> {
  await upstream.forget();
  const worker = await service.startWorker();
  const { everyMs, roundMs } = plan;
  const lastsMs = leadMs + roundMs + graceMs;
  const count = Math.round((leadMs + roundMs) / everyMs);
  const over = pause(lastsMs);
  const [all = []] = await traffic.run([flow(service, { name, count, everyMs, lastsMs })]);
  await over;
  const seen = now();
  const sent = all.slice(Math.round(leadMs / everyMs));
  const refused = sent.filter(({ status }) => status !== 200 && status !== 0);
  if (refused.length > 0)
    throw new Error(`${refused.length} requests were refused, with ${refused[0]?.status}`);
  await worker.stop();
  await until(
    'what ran has ended',
    async () => {
      const { arrived, ended } = await upstream.count();
      return arrived === ended;
    },
    deadline,
  );
  // A request that came while the worker stopped is not counted as one that came in time.
  const log = (await upstream.log()).filter(({ at }) => at <= seen);
  return { sent, log, until: seen };
}

/** The mean time between two releases when all slots are busy, as the upstream served: service time over slots. */
export function measuredReleaseMs({ log }: Watched, model: PacedModel): number {
  const times = log.flatMap(({ at, endedAt }) => (endedAt === undefined ? [] : [endedAt - at]));
  if (times.length === 0) return Number.NaN;
  const serviceMs = times.reduce((total, time) => total + time, 0) / times.length;
  return releaseMs({ ...model, serviceMs });
}
