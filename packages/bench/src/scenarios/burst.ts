import { cpuBetween, readCpuTimes } from '../cpu-times.ts';
import { readResponses } from '../read-responses.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import type { BenchService } from '../service.ts';
import { whileAllWait, worstDeviation } from '../shares.ts';
import { onStage, type Stage } from '../stage.ts';
import type { Sent } from '../traffic/flow.ts';
import { burstFlow } from '../traffic/flows.ts';
import { type Arrival, pacedModelName } from '../upstream/paced-model.ts';
import { until } from '../until.ts';
import {
  type BurstPlan,
  type Depth,
  reportBurst,
  type Round,
  slots,
  tenantOf,
  tenants,
  weights,
  workers,
} from './burst-report.ts';

/** Answers at once, so that the drain shows the order and the pace of the service. */
const model = { serviceMs: 0, slots: 0, tokens: 1 };
const plans: Record<'full' | 'quick', Plan> = {
  full: {
    rounds: 3,
    warmUp: 3_000,
    idle: 1_000,
    each: 2_500,
    deep: [1_000, 10_000, 40_000, 70_000, 100_000],
  },
  quick: { rounds: 1, warmUp: 100, idle: 100, each: 250, deep: [] },
};

interface Plan extends BurstPlan {
  rounds: number;
  warmUp: number;
  /** How many wait when the memory is read without a drain. */
  deep: readonly number[];
}

/** Most requests of one order, because what became of each is kept until its end. */
const mostOfAnOrder = 10_000;

/** A burst into a service whose workers are stopped, what it costs to wait, and the order in which it drains. */
export const burst: Scenario = {
  name: 'burst',
  budgetMs: 300_000,
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    return onStage(context, async (stage) => {
      const rounds: Round[] = [];
      for (let round = 0; round < plan.rounds; round += 1) rounds.push(await runRound(context, stage, plan));
      return reportBurst(rounds, await pileUp(context, stage, plan), plan);
    });
  },
};

function startService(stage: Stage): Promise<BenchService> {
  return stage.start({ models: [pacedModelName(model)], concurrency: slots, tenants });
}

async function runRound(context: ScenarioContext, stage: Stage, plan: Plan): Promise<Round> {
  const { redis, progress, deadline } = context;
  const { upstream, traffic } = stage;
  const service = await startService(stage);
  const lastsMs = deadline - performance.now();
  const send = (tenant: string, name: string, count: number) =>
    traffic.fill(burstFlow(service, { name, tenant, model, count, lastsMs }));
  const drain = async (count: number) => {
    await until('every response has run', async () => (await upstream.count()).ended >= count, deadline);
  };

  progress.say('burst: warming up');
  await upstream.forget();
  await send('one', 'warm', plan.warmUp);
  const warmWorker = await service.startWorker();
  await drain(plan.warmUp);
  await warmWorker.stop();

  progress.say(`burst: accepting ${plan.each * tenants.length} responses`);
  await upstream.forget();
  const before = await redis.usedMemoryBytes();
  const depths: Depth[] = [];
  const measureDepth = async (waiting: number) => {
    depths.push({ waiting, bytesEach: ((await redis.usedMemoryBytes()) - before) / waiting });
  };
  const acceptors = new Map([
    ['load', traffic.child],
    ['api', service.api],
  ]);
  const idleBefore = await readCpuTimes(acceptors, redis);
  const idle = await send('one', 'one', plan.idle);
  const idleCpu = cpuBetween(idleBefore, await readCpuTimes(acceptors, redis));
  await measureDepth(plan.idle);
  const cpuBefore = await readCpuTimes(acceptors, redis);
  const bursts: Sent[][] = [];
  for (const { name } of tenants) {
    bursts.push(await send(name, `${name}.burst`, plan.each));
    await measureDepth(plan.idle + bursts.length * plan.each);
  }
  const acceptCpu = cpuBetween(cpuBefore, await readCpuTimes(acceptors, redis));

  progress.say('burst: draining');
  const sent = [...idle, ...bursts.flat()];
  const running = await Promise.all(Array.from({ length: workers }, () => service.startWorker()));
  const drainers = new Map([
    ['worker', running],
    ['upstream', [upstream.child]],
  ]);
  const drainBefore = await readCpuTimes(drainers, redis);
  const countBefore = (await upstream.count()).ended;
  const startedAt = performance.now();
  await drain(sent.length);
  const drainMs = performance.now() - startedAt;
  const drainCpu = cpuBetween(drainBefore, await readCpuTimes(drainers, redis));
  const log = await upstream.log();
  const lost = await countLost(context, service, sent);
  await stage.end(service);
  const drained = sent.length - countBefore;
  return {
    idleRate: rateOf(idle),
    burstRate: bursts.flat().length / (bursts.reduce((all, one) => all + elapsedMs(one), 0) / 1000),
    idle: plan.idle,
    idleCpu,
    accepted: bursts.flat().length,
    acceptCpu,
    depths,
    drained,
    drainRate: (drained * 1000) / drainMs,
    drainCpu,
    lost,
    refused: sent.reduce((sum, { refusals }) => sum + refusals, 0),
    repeated: log.length - new Set(log.map(({ tag }) => tag)).size,
    deviation: deviationOf(log, plan),
    log,
  };
}

/** Reads every response by its id until all have ended, and counts those that did not complete, or share an id. */
async function countLost(
  { deadline }: ScenarioContext,
  service: BenchService,
  sent: readonly Sent[],
): Promise<number> {
  const owned = sent.map(({ id = '', tag }) => ({ id, tenant: tenantOf(tag) }));
  let open = owned;
  let wrong = owned.length - new Set(owned.map(({ id }) => id)).size;
  await until(
    'every response has ended',
    async () => {
      const read = await readResponses(service, open);
      const isOpen = (at: number) => ['queued', 'in_progress'].includes(read[at]?.status ?? '');
      wrong += read.filter((one, at) => !isOpen(at) && one?.status !== 'completed').length;
      open = open.filter((_, at) => isOpen(at));
      return open.length === 0;
    },
    deadline,
  );
  return wrong;
}

function deviationOf(log: readonly Arrival[], plan: Plan): number {
  const waiting = new Map(
    tenants.map(({ name }) => [name, plan.each + (name === tenants[0].name ? plan.idle : 0)]),
  );
  const starts = log.map(({ tag }) => tenantOf(tag));
  return worstDeviation(whileAllWait(starts, waiting), weights);
}

/** Accepts more and more, and lets nothing run. Returns the memory at each depth. */
async function pileUp(
  { redis, progress, deadline }: ScenarioContext,
  stage: Stage,
  plan: Plan,
): Promise<Depth[]> {
  if (plan.deep.length === 0) return [];
  const service = await startService(stage);
  const depths: Depth[] = [];
  const send = (name: string, tenant: string, count: number) =>
    stage.traffic.fill(
      burstFlow(service, { name, tenant, model, count, lastsMs: deadline - performance.now() }),
    );
  await send('warm', 'one', plan.warmUp);
  const before = await redis.usedMemoryBytes();
  let waiting = 0;
  for (const depth of plan.deep) {
    while (waiting < depth) {
      progress.say(`burst: ${waiting} responses wait`);
      const count = Math.min(depth - waiting, mostOfAnOrder);
      const { name } = tenants[Math.floor(waiting / mostOfAnOrder) % tenants.length] ?? tenants[0];
      await send(`deep${waiting}`, name, count);
      waiting += count;
    }
    depths.push({ waiting, bytesEach: ((await redis.usedMemoryBytes()) - before) / waiting });
  }
  await stage.end(service);
  return depths;
}

function elapsedMs(sent: readonly Sent[]): number {
  const last = sent.reduce((latest, { answeredAt }) => Math.max(latest, answeredAt), 0);
  return last - (sent[0]?.at ?? Number.NaN);
}

function rateOf(sent: readonly Sent[]): number {
  return (sent.length * 1000) / elapsedMs(sent);
}
