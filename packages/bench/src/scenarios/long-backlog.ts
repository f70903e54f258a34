import { cpuBetween, cpuOf, type CpuTimes, readCpuTimes } from '../cpu-times.ts';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { askMeanwhile, type Neighbour } from '../neighbour.ts';
import { onService } from '../on-service.ts';
import { expectOpenResponses, untilOpenResponses } from '../open-responses.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { type BenchService, processesOf } from '../service.ts';
import { percentile } from '../statistics.ts';
import { cpuCells, figure, type Table } from '../table.ts';
import { backgroundTarget, wholeTarget } from '../targets.ts';

const model = { tokens: 1, intervalMs: 0 };
const slots = 64;
const callers = 32;

const plans = {
  full: { responses: 100_000, blocks: 5, warmUp: 2_000, aloneMs: 5_000 },
  quick: { responses: 1_000, blocks: 5, warmUp: 100, aloneMs: 500 },
};

type Plan = (typeof plans)['full'];

/** The longest time for a block: to accept it, or to run it. */
const mostMs = 120_000;

/** Some of the responses, while their number goes up or down. */
interface Block {
  from: number;
  to: number;
  responses: number;
  elapsedMs: number;
  cpuMs: CpuTimes;
}

/** Short questions of another tenant. */
interface Neighbours {
  alone: Neighbour;
  beside: Neighbour;
}

/** A backlog as after a night without workers: how its length changes what a response costs, and what a neighbour waits. */
export const longBacklog: Scenario = {
  name: 'long-backlog',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    const own = { models: [model], concurrency: slots, tenants: 2 };
    return onService(context, own, async (service) => {
      const accepted = await accept(context, service, plan);
      const { drained, neighbour } = await drain(context, service, plan);
      return report(plan, { accepted, drained, neighbour });
    });
  },
};

async function accept(
  { load, redis, progress }: ScenarioContext,
  service: BenchService,
  { responses, blocks, warmUp }: Plan,
): Promise<Measurement[]> {
  const order = { target: backgroundTarget(service, model), concurrency: callers, durationMs: mostMs };
  const processes = new Map([['api', service.api]]);
  progress.say('long backlog: warming up');
  await runLoad(load, { ...order, count: warmUp });
  const accepted: Measurement[] = [];
  for (let block = 0; block < blocks; block += 1) {
    progress.say(`long backlog: ${(block * responses) / blocks} responses wait`);
    accepted.push(await measure({ ...order, count: responses / blocks }, { load, redis, processes }));
  }
  return accepted;
}

/** The first block warms the worker up. */
async function drain(
  context: ScenarioContext,
  service: BenchService,
  plan: Plan,
): Promise<{ drained: Block[]; neighbour: Neighbours }> {
  const { progress } = context;
  await expectOpenResponses(context.redis, service, plan.warmUp + plan.responses);
  const neighbour = wholeTarget({ ...service, key: service.keys[1] ?? '' }, model);
  progress.say('long backlog: starting a worker');
  const worker = await service.startWorker();
  const running = drainByBlocks(context, service, { plan, worker });
  const [drained, beside] = await Promise.all([running, askMeanwhile(neighbour, running)]);
  progress.say('long backlog: a neighbour alone');
  const alone = await askMeanwhile(neighbour, new Promise((resolve) => setTimeout(resolve, plan.aloneMs)));
  return { drained, neighbour: { alone, beside } };
}

async function drainByBlocks(
  { redis, upstream, progress }: ScenarioContext,
  service: BenchService,
  { plan: { responses, blocks }, worker }: { plan: Plan; worker: { pid: number } },
): Promise<Block[]> {
  const processes = processesOf(service, worker, upstream);
  const read = () => readCpuTimes(processes, redis);
  // The neighbour has one job at a time.
  const bounds = Array.from({ length: blocks }, (_, at) => responses - ((at + 1) * responses) / blocks + 1);
  const drained: Block[] = [];
  let last: { open: number; at: number; cpuMs: CpuTimes } | undefined;
  for (const atMost of bounds) {
    progress.say(`long backlog: draining to ${atMost}`);
    const open = await untilOpenResponses(redis, service, { atMost, withinMs: mostMs });
    const [at, cpuMs] = [performance.now(), await read()];
    if (last && open < last.open) {
      drained.push({
        from: last.open,
        to: open,
        responses: last.open - open,
        elapsedMs: at - last.at,
        cpuMs: cpuBetween(last.cpuMs, cpuMs),
      });
    }
    await redis.speed.run();
    last = { open, at: performance.now(), cpuMs: await read() };
  }
  return drained;
}

function report(
  { responses, blocks, warmUp }: Plan,
  { accepted, drained, neighbour }: { accepted: Measurement[]; drained: Block[]; neighbour: Neighbours },
): ScenarioReport {
  const size = responses / blocks;
  return {
    title: 'A long backlog',
    description:
      `${count(responses)} background responses from ${callers} callers while no worker runs, and then one worker with ${slots} slots, over an upstream that does no work. The api has accepted ${count(warmUp)} before anything is ` +
      `measured, and the first ${count(size)} that are drained warm the worker up. Meanwhile another tenant sends one short synchronous question after the other. One round: the ratios compare its blocks.`,
    tables: [
      blockTable('Accepting; CPU in µs a response', ['load', 'api', 'redis'], {
        blocks: accepted.map((block, at) => ({
          ...block,
          responses: block.completed,
          from: at * size,
          to: (at + 1) * size,
        })),
        against: 0,
      }),
      blockTable('Draining; CPU in µs a response', ['api', 'worker', 'redis', 'upstream'], {
        blocks: drained,
        against: drained.length - 1,
      }),
      {
        title: 'A short question of another tenant',
        columns: ['', 'answered', 'refused', 'p50 ms', 'p99 ms'],
        rows: [
          neighbourRow('alone', neighbour.alone),
          neighbourRow('while the backlog is drained', neighbour.beside),
        ],
      },
    ],
  };
}

/** A row for each block, with the ratio of its cost to that of one of them. */
function blockTable(
  title: string,
  roles: readonly string[],
  { blocks, against }: { blocks: readonly Block[]; against: number },
): Table {
  const own = roles.filter((role) => role !== 'load' && role !== 'upstream');
  const cost = (block: Block | undefined) => (block ? cpuOf(block, own) / block.responses : Number.NaN);
  return {
    title,
    columns: ['waiting', 'responses/s', ...roles.map((role) => `${role} CPU`), 'all CPU', 'ratio'],
    rows: blocks.map((block) => [
      `${count(block.from)} to ${count(block.to)}`,
      figure((block.responses * 1_000) / block.elapsedMs),
      ...cpuCells([block], roles, (each) => each.responses),
      figure(cost(block) / cost(blocks[against])),
    ]),
  };
}

function neighbourRow(name: string, { tookMs, refused }: Neighbour): string[] {
  return [
    name,
    count(tookMs.length),
    count(refused),
    ...[0.5, 0.99].map((share) => figure(percentile(tookMs, share))),
  ];
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
