import type { CellOfQueues, FlowsDemand, QueueDemand } from './queue-demand.ts';

/** How often the distance is halved in which the shares are looked for: more often than a number of ticks has bits. */
const halvings = 60;

/** What a cell has to do for a queue. */
export interface PlaceOfQueue {
  cell: CellOfQueues;
  demand: QueueDemand;
}

/** Reads which flows run in each cell, and divides what may run at once; see `fairShares`. Never rejects. */
export async function readFairShares(
  queue: string,
  places: readonly PlaceOfQueue[],
  available: number,
): Promise<number[]> {
  const read = await Promise.allSettled(
    places.map(({ cell, demand }) => cell.runningFlows(queue, demand.runningIds)),
  );
  // Without the flows that run, what waits decides alone.
  const demands = places.map(({ demand }, at): FlowsDemand => {
    const known = read[at];
    return { ...demand, ...(known?.status === 'fulfilled' ? known.value : { passed: 0, flows: [] }) };
  });
  const asked = demands.map(({ running, waiting }) => running + waiting);
  return sum(asked) > available ? fairShares(demands, available) : asked;
}

/**
 * Divides what may run at once of a queue over the cells as if there were one queue: by the weights of the flows in each, and to none more than
 * it asks for. Every cell gets what it would have started when the virtual time has gone on by as much in all of them, with what runs there
 * as the first. So many jobs of one tenant in one cell count as one flow, and not as many.
 *
 * @param available less than all ask for.
 * @returns numbers with a fraction, whose sum is `available`.
 */
export function fairShares(demands: readonly FlowsDemand[], available: number): number[] {
  const claimsAt = (ticks: number) => demands.map((demand) => claimed(demand, ticks));
  const marks = demands.flatMap(marksOf);
  let near = Math.min(0, ...marks) - 1;
  let far = Math.max(0, ...marks);
  // Of more than the jobs that were looked at, the rest is like these.
  if (sum(claimsAt(far)) <= available) return proportional(available, demands);
  for (let halving = 0; halving < halvings; halving += 1) {
    const middle = (near + far) / 2;
    if (sum(claimsAt(middle)) <= available) near = middle;
    else far = middle;
  }
  const below = claimsAt(near);
  const above = claimsAt(far);
  const rest = (available - sum(below)) / (sum(above) - sum(below));
  return below.map((part, at) => part + rest * ((above[at] ?? 0) - part));
}

/** How many jobs a cell would run if the virtual time were so many ticks further and nothing had been started yet. */
function claimed({ first, priorities, passed, flows }: FlowsDemand, ticks: number): number {
  const waiting = countUpTo(priorities, ticks + passed + 1);
  const running = flows.map((flow) =>
    Math.min(flow.running, Math.max(0, ticks / flow.cost - waitingOf(flow))),
  );
  return (ticks >= 0 ? first : 0) + waiting + sum(running);
}

/** About how many responses of a flow wait. */
function waitingOf({ lead, cost }: FlowsDemand['flows'][number]): number {
  return Math.max(0, Math.ceil(lead / cost) - 1);
}

/** Numbers of ticks at which claims begin and end. */
function marksOf({ priorities, passed, flows }: FlowsDemand): number[] {
  const ends = flows.map((flow) => (waitingOf(flow) + flow.running) * flow.cost);
  const [first] = priorities;
  const last = priorities.at(-1);
  return [first, last].flatMap((each) => (each === undefined ? [] : [each - passed])).concat(ends);
}

/** How many of some numbers, which are in order, are at most another one. */
function countUpTo(numbers: readonly number[], most: number): number {
  let [from, to] = [0, numbers.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((numbers[middle] ?? 0) <= most) from = middle + 1;
    else to = middle;
  }
  return from;
}

function proportional(available: number, demands: readonly FlowsDemand[]): number[] {
  const all = sum(demands.map(({ running, waiting }) => running + waiting));
  return demands.map(({ running, waiting }) => (available * (running + waiting)) / all);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
