import type { CpuTimes } from '../cpu-times.ts';
import { atLeast, atMost, type Goal, goalTable } from '../goals.ts';
import { type Point, renderPlot } from '../plot/plot.ts';
import type { Picture, ScenarioReport } from '../scenario.ts';
import type { BenchTenant } from '../service.ts';
import { nameOf } from '../shares.ts';
import { spread } from '../statistics.ts';
import { cpuCells, figure, spreadFigure, type Table } from '../table.ts';
import type { Arrival } from '../upstream/paced-model.ts';

export const workers = 2;
export const slots = 32;
export const tenants = [
  { name: 'one', weight: 1 },
  { name: 'two', weight: 2 },
  { name: 'three', weight: 3 },
  { name: 'four', weight: 4 },
] as const satisfies readonly BenchTenant[];
export const weights = new Map<string, number>(tenants.map(({ name, weight }) => [name, weight]));

/** How many responses there are: into the idle system, and in the burst of each tenant. */
export interface BurstPlan {
  idle: number;
  each: number;
}

/** Bytes of Redis for each waiting response, at a number of them. */
export interface Depth {
  waiting: number;
  bytesEach: number;
}

export interface Round {
  idleRate: number;
  burstRate: number;
  /** Accepted by the idle system, and in the burst. */
  idle: number;
  accepted: number;
  idleCpu: CpuTimes;
  acceptCpu: CpuTimes;
  depths: Depth[];
  drained: number;
  drainRate: number;
  drainCpu: CpuTimes;
  /** Responses that were accepted and have not completed. */
  lost: number;
  /** Answers of 503, after which the request was sent again. */
  refused: number;
  /** Requests that the upstream saw twice. */
  repeated: number;
  deviation: number;
  log: Arrival[];
}

/** The tenant of a request. */
export function tenantOf(tag: string): string {
  return nameOf(tag).replace('.burst', '');
}

/** What a waiting response may take, and how much more of it at the greatest depth than at the least. */
const mostBytes = 2_500;
const mostGrowth = 1.05;

export function reportBurst(
  rounds: readonly Round[],
  deep: readonly Depth[],
  plan: BurstPlan,
): ScenarioReport {
  const number = (value: number) => value.toLocaleString('en-US');
  const total = plan.each * tenants.length;
  const bytes = rounds.map(({ depths }) => depths.at(-1)?.bytesEach ?? Number.NaN);
  return {
    title: 'A burst while the workers are stopped',
    description:
      `${number(plan.idle)} background responses into an idle system, and then ${number(total)} in one burst, from 32 callers ` +
      `and for four tenants with the weights 1 to 4, one after the other, while no worker runs. Then ${workers} workers ` +
      `with ${slots} slots each drain them, over an upstream that answers at once and logs what arrives. Shares are those ` +
      'until the first tenant has nothing left to wait. Every response is then read by its id.',
    tables: [
      goalTable([
        {
          what: 'accept rate of the burst, to that of the idle system',
          goal: 'at least 0.8',
          rounds: rounds.map(({ burstRate, idleRate }) => burstRate / idleRate),
          isMet: atLeast(0.8),
        },
        {
          what: 'CPU of one of its accepts, to that of the idle system',
          goal: 'at most 1.25',
          rounds: rounds.map(
            (one) => (allCpuMs(one.acceptCpu) * one.idle) / (allCpuMs(one.idleCpu) * one.accepted),
          ),
          isMet: atMost(1.25),
        },
        {
          what: `Redis bytes of a waiting response, ${number(plan.idle + total)} waiting`,
          goal: `at most ${number(mostBytes)}`,
          rounds: bytes,
          isMet: atMost(mostBytes),
        },
        ...deepGoals(deep),
        {
          what: 'responses lost, or accepted under the same id',
          goal: '0',
          rounds: rounds.map(({ lost }) => lost),
          isMet: atMost(0),
        },
        {
          what: 'answers of 503, each followed by another try',
          goal: '0',
          rounds: rounds.map(({ refused }) => refused),
          isMet: atMost(0),
        },
        {
          what: 'requests that the upstream saw twice',
          goal: '0',
          rounds: rounds.map(({ repeated }) => repeated),
          isMet: atMost(0),
        },
        {
          what: 'largest deviation of a share from the weight',
          goal: 'at most 5 %',
          rounds: rounds.map(({ deviation }) => deviation * 100),
          isMet: atMost(5),
        },
      ]),
      rateTable(rounds),
      depthTable(rounds, deep),
    ],
    pictures: [memoryPicture(rounds, deep), drainPicture(rounds)],
  };
}

/** Of every process together. NaN where one is unknown. */
function allCpuMs(times: CpuTimes): number {
  return [...times.values()].reduce<number>((sum, time) => sum + (time ?? Number.NaN), 0);
}

function deepGoals(deep: readonly Depth[]): Goal[] {
  const [least, most] = [deep[0], deep.at(-1)];
  if (!least || !most) return [];
  return [
    {
      what: `the same at ${most.waiting.toLocaleString('en-US')} waiting, to that at ${least.waiting.toLocaleString('en-US')}`,
      goal: `at most ${mostGrowth}`,
      rounds: [most.bytesEach / least.bytesEach],
      isMet: atMost(mostGrowth),
    },
  ];
}

function rateTable(rounds: readonly Round[]): Table {
  const roles = ['load', 'api', 'worker', 'redis', 'upstream'];
  const cpu = (of: (round: Round) => CpuTimes, worksOf: (round: Round) => number) =>
    cpuCells(
      rounds.map((round) => ({ ...round, cpuMs: of(round) })),
      roles,
      worksOf,
    );
  const rates = (of: (round: Round) => number) => spreadFigure(spread(rounds.map(of)));
  return {
    title: 'Responses a second; CPU in µs a response',
    columns: ['', 'a second', ...roles.map((role) => `${role} CPU`), 'all CPU'],
    rows: [
      [
        'accepted, idle',
        rates(({ idleRate }) => idleRate),
        ...cpu(
          (one) => one.idleCpu,
          (one) => one.idle,
        ),
      ],
      [
        'accepted, burst',
        rates(({ burstRate }) => burstRate),
        ...cpu(
          (one) => one.acceptCpu,
          (one) => one.accepted,
        ),
      ],
      [
        'drained',
        rates(({ drainRate }) => drainRate),
        ...cpu(
          (one) => one.drainCpu,
          (one) => one.drained,
        ),
      ],
    ],
  };
}

function depthTable(rounds: readonly Round[], deep: readonly Depth[]): Table {
  const depths = rounds[0]?.depths ?? [];
  return {
    title: 'Redis memory of a waiting response, by used_memory',
    columns: ['waiting', 'bytes each'],
    rows: [
      ...depths.map(({ waiting }, at) => [
        waiting.toLocaleString('en-US'),
        spreadFigure(spread(rounds.map((round) => round.depths[at]?.bytesEach ?? Number.NaN))),
      ]),
      ...deep.map(({ waiting, bytesEach }) => [
        `${waiting.toLocaleString('en-US')}, one round`,
        figure(bytesEach),
      ]),
    ],
  };
}

function memoryPicture(rounds: readonly Round[], deep: readonly Depth[]): Picture {
  const points = (deep.length > 0 ? deep : (rounds.at(-1)?.depths ?? [])).map(
    ({ waiting, bytesEach }): Point => [waiting, bytesEach],
  );
  const last = points.at(-1)?.[0] ?? 0;
  const title = 'Redis memory of a waiting response';
  return {
    file: 'burst-memory.svg',
    alt: `${title}, by how many wait`,
    svg: renderPlot({
      title,
      xLabel: 'responses waiting',
      yLabel: 'bytes each',
      series: [
        { name: 'measured', style: 'line', points },
        {
          name: 'goal',
          style: 'goal',
          points: [
            [0, mostBytes],
            [last, mostBytes],
          ],
        },
      ],
    }),
  };
}

function drainPicture(rounds: readonly Round[]): Picture {
  const log = rounds.at(-1)?.log ?? [];
  const startedAt = log[0]?.at ?? 0;
  const title = 'What has started, by tenant, while the burst drains';
  return {
    file: 'burst-drain.svg',
    alt: title,
    svg: renderPlot({
      title,
      xLabel: 'seconds',
      yLabel: 'responses started',
      series: tenants.map(({ name, weight }) => ({
        name: `weight ${weight}`,
        style: 'line',
        points: log
          .filter(({ tag }) => tenantOf(tag) === name)
          .map(({ at }, count): Point => [(at - startedAt) / 1000, count + 1]),
      })),
    }),
  };
}
