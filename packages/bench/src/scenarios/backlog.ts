import type { KeyFamily } from '../bench-redis.ts';
import type { Child } from '../child-process.ts';
import { cpuTimeMs } from '@sluice/testing';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { atMost, type Goal, goalTable } from '../goals.ts';
import { onService } from '../on-service.ts';
import { expectOpenResponses, untilOpenResponses } from '../open-responses.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import type { BenchService } from '../service.ts';
import { median, spread } from '../statistics.ts';
import { cpuCells, figure, spreadFigure, type Table } from '../table.ts';
import { backgroundTarget } from '../targets.ts';

const slots = 64;
const callers = 32;
const model = { tokens: 1, intervalMs: 0 };
const own = { models: [model], concurrency: slots };

const plans = {
  full: { rounds: 3, responses: 10_000, depths: [1_000, 10_000, 40_000, 70_000, 100_000] },
  quick: { rounds: 1, responses: 1_000, depths: [] },
};

/** The most bytes of Redis for a waiting response, and how much more of it at the greatest depth than at the least. */
const mostBytes = 2_500;
const mostGrowth = 1.05;

/** The longest time to accept responses of one order, and to drain a backlog. */
const mostMs = 40_000;

/** Bytes of Redis for each waiting response, at a number of them. */
interface Depth {
  waiting: number;
  bytesEach: number;
}

/** The result of one round. */
interface Backlog {
  accepts: Measurement;
  bytesEach: number;
  families: KeyFamily[];
  drainedPerSecond: number;
  drainCpuMs: ReadonlyMap<string, number>;
}

/** A backlog that grows without a worker and is then drained. */
export const backlog: Scenario = {
  name: 'backlog',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const { rounds, responses, depths } = context.quick ? plans.quick : plans.full;
    const results: Backlog[] = [];
    for (let round = 0; round < rounds; round += 1) {
      results.push(await onService(context, own, (service) => pileUpAndDrain(context, service, responses)));
    }
    const deep = await onService(context, own, (service) => pileUp(context, service, depths));
    return report(results, deep, responses);
  },
};

/** Accepts more and more, lets nothing run, and returns the memory at each depth. */
async function pileUp(
  { load, redis, progress }: ScenarioContext,
  service: BenchService,
  depths: readonly number[],
): Promise<Depth[]> {
  const order = { target: backgroundTarget(service, model), concurrency: callers, durationMs: mostMs };
  // The first entries of the sets take more than later ones.
  if (depths.length > 0) await runLoad(load, { ...order, count: 3_000 });
  const before = await redis.usedMemoryBytes();
  const found: Depth[] = [];
  let waiting = 0;
  for (const depth of depths) {
    while (waiting < depth) {
      progress.say(`backlog: ${waiting} responses wait`);
      waiting += (await runLoad(load, { ...order, count: Math.min(depth - waiting, 10_000) })).completed;
    }
    found.push({ waiting, bytesEach: ((await redis.usedMemoryBytes()) - before) / waiting });
  }
  return found;
}

async function pileUpAndDrain(
  { load, redis, upstream, progress }: ScenarioContext,
  service: BenchService,
  responses: number,
): Promise<Backlog> {
  const order = { target: backgroundTarget(service, model), concurrency: callers, durationMs: mostMs };
  // Connections, compiled code and the first entry of each set are not part of the cost of a response.
  progress.say('backlog: warming up');
  const warmUp = await measure({ ...order, count: 200 }, { load, redis, processes: new Map() });
  progress.say(`backlog: accepting ${responses} responses`);
  const before = await redis.usedMemoryBytes();
  const processes = new Map([['api', service.api]]);
  const accepts = await measure({ ...order, count: responses }, { load, redis, processes });
  const bytesEach = ((await redis.usedMemoryBytes()) - before) / accepts.completed;
  const families = await redis.keyFamilies(service.keyPrefix, familyOf);
  progress.say('backlog: draining');
  const waiting = accepts.completed + warmUp.completed;
  await expectOpenResponses(redis, service, waiting);
  const redisBefore = await redis.cpuTimeMs();
  const upstreamBefore = cpuTimeMs(upstream.pid) ?? Number.NaN;
  const worker = await service.startWorker();
  const startedAt = performance.now();
  const workerBefore = cpuTimeMs(worker.pid) ?? Number.NaN;
  await untilOpenResponses(redis, service, { atMost: 0, withinMs: mostMs });
  const elapsedMs = performance.now() - startedAt;
  return {
    accepts,
    bytesEach,
    families,
    drainedPerSecond: (waiting * 1000) / elapsedMs,
    drainCpuMs: new Map([
      ['worker', (cpuSince(worker, workerBefore) ?? Number.NaN) / waiting],
      ['redis', ((await redis.cpuTimeMs()) - redisBefore) / waiting],
      ['upstream', (cpuSince(upstream, upstreamBefore) ?? Number.NaN) / waiting],
    ]),
  };
}

function cpuSince({ pid }: Child, before: number): number | undefined {
  const now = cpuTimeMs(pid);
  return now === undefined ? undefined : now - before;
}

/** The family of a key. Keys that differ only in the id of a response are one family. */
export function familyOf(key: string): string {
  return key.replace(/^\{\w\}:/, '').replace(/create-response_[A-Za-z0-9]+/, '<response>');
}

function report(results: readonly Backlog[], deep: readonly Depth[], responses: number): ScenarioReport {
  const accepts = results.map((result) => result.accepts);
  const acceptRoles = ['load', 'api', 'redis'];
  const drainRoles = ['worker', 'redis', 'upstream'];
  return {
    title: 'Backlog',
    description:
      `${responses.toLocaleString('en-US')} background responses from ${callers} callers while no worker runs, ` +
      `and then one worker with ${slots} slots, over an upstream that does no work. ` +
      'Memory is what Redis says it uses, so allocation and the sets are part of it.',
    tables: [
      goalTable(goalsOf(results, deep, responses)),
      {
        title: 'Accepting; CPU in µs a response',
        columns: ['accepted/s', 'p50 ms', 'p99 ms', ...acceptRoles.map((role) => `${role} CPU`), 'all CPU'],
        rows: [
          [
            spreadFigure(spread(accepts.map(acceptRate))),
            figure(median(accepts.map(({ latencyMs }) => latencyMs.p50))),
            figure(median(accepts.map(({ latencyMs }) => latencyMs.p99))),
            ...cpuCells(accepts, acceptRoles, ({ completed }) => completed),
          ],
        ],
      },
      {
        title: 'Draining; CPU in µs a response',
        columns: ['drained/s', ...drainRoles.map((role) => `${role} CPU`)],
        rows: [
          [
            spreadFigure(spread(results.map(({ drainedPerSecond }) => drainedPerSecond))),
            ...drainRoles.map((role) =>
              figure(median(results.map(({ drainCpuMs }) => (drainCpuMs.get(role) ?? Number.NaN) * 1000))),
            ),
          ],
        ],
      },
      memoryTable(results, deep),
    ],
  };
}

function goalsOf(results: readonly Backlog[], deep: readonly Depth[], responses: number): Goal[] {
  const number = (value: number) => value.toLocaleString('en-US');
  const [least, most] = [deep[0], deep.at(-1)];
  const goals: Goal[] = [
    {
      what: `Redis bytes of a waiting response, ${number(responses)} waiting`,
      goal: `at most ${number(mostBytes)}`,
      rounds: results.map(({ bytesEach }) => bytesEach),
      isMet: atMost(mostBytes),
    },
  ];
  if (least && most) {
    goals.push({
      what: `the same at ${number(most.waiting)} waiting, to that at ${number(least.waiting)}`,
      goal: `at most ${mostGrowth}`,
      rounds: [most.bytesEach / least.bytesEach],
      isMet: atMost(mostGrowth),
    });
  }
  return goals;
}

function memoryTable(results: readonly Backlog[], deep: readonly Depth[]): Table {
  const families = results.at(-1)?.families ?? [];
  const responses = Math.max(...families.map(({ keys }) => keys));
  // A key that exists once, whatever waits, costs a response nothing.
  const heavy = families.filter(({ bytes }) => bytes >= responses);
  return {
    title: 'Redis memory of a waiting response',
    columns: ['keys', 'how many', 'bytes each', 'bytes a response'],
    rows: [
      ['all, by used_memory', '', '', spreadFigure(spread(results.map(({ bytesEach }) => bytesEach)))],
      ...heavy.map(({ name, keys, bytes }) => [
        `\`${name}\``,
        String(keys),
        figure(bytes / keys),
        figure(bytes / responses),
      ]),
      ...deep.map(({ waiting, bytesEach }) => [
        `all, ${waiting.toLocaleString('en-US')} waiting, one round`,
        '',
        '',
        figure(bytesEach),
      ]),
    ],
  };
}

function acceptRate({ completed, elapsedMs }: Measurement): number {
  return (completed * 1000) / elapsedMs;
}
