import type { CellOfQueues, FlowsDemand, QueueDemand } from './queue-demand.ts';

/** How often the distance is halved in which the shares are looked for: more often than a number of ticks has bits. */
const halvings = 60;

/** A cell and the jobs of a queue there. */
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
  const demands = places.map(({ demand }, at): FlowsDemand => {
    const known = read[at];
    // Without the flows that run, what waits decides alone.
    const running = known?.status === 'fulfilled' ? known.value : { passed: 0, flows: [] };
    return { ...demand, ...running };
  });
  const asked = demands.map(({ running, waiting }) => running + waiting);
  return sum(asked) > available ? fairShares(demands, available) : asked;
}

/**
 * Divides what may run at once of a queue over the cells as if there were one queue: by the weights of the flows in each, and to none more than
 * it asks for. The virtual time goes on by as much in all cells, and each gets what it would have started by then, if nothing ran yet. So many jobs
 * of one tenant in one cell count as one flow, and not as many.
 *
 * @param available less than all ask for.
 * @returns numbers with a fraction, whose sum is `available`.
 */
export function fairShares(demands: readonly FlowsDemand[], available: number): number[] {
  const claimsAt = (ticks: number) => demands.map((demand) => claimed(demand, ticks));
  const marks = demands.flatMap(marksOf);
  let near = Math.min(0, ...marks) - 2;
  // Nobody knows what comes behind the jobs that were looked at.
  let far = Math.min(Math.max(0, ...marks), ...demands.map(knownUpTo));
  const most = claimsAt(far);
  // The rest is like these, and where there are none, like all that there is.
  if (sum(most) <= available)
    return scaled(sum(most) > 0 ? most : demands.map(({ running, waiting }) => running + waiting), available);
  for (let halving = 0; halving < halvings; halving += 1) {
    const middle = (near + far) / 2;
    if (sum(claimsAt(middle)) <= available) near = middle;
    else far = middle;
  }
  const below = claimsAt(near);
  const above = claimsAt(far);
  const step = sum(above) - sum(below);
  const rest = step > 0 ? (available - sum(below)) / step : 0;
  return below.map((part, at) => part + rest * ((above[at] ?? 0) - part));
}

/** How many jobs a cell would run if the virtual time were so many ticks further and nothing had been started yet. */
function claimed(demand: FlowsDemand, ticks: number): number {
  const { first, priorities, passed, flows, running, runningIds } = demand;
  const waiting = countUpTo(priorities, ticks + passed + 1);
  // The running jobs that were looked at stand for all of them.
  const each = runningIds.length > 0 ? running / runningIds.length : 1;
  const ofFlows = flows.map((flow) =>
    Math.min(flow.running * each, Math.max(0, ticks / flow.cost - waitingOf(flow))),
  );
  return (ticks >= 0 ? first : 0) + waiting + sum(ofFlows);
}

/** How far the jobs reach that were looked at, in ticks from the virtual time; without an end when these are all. */
function knownUpTo({ first, waiting, priorities, passed }: FlowsDemand): number {
  const last = priorities.at(-1);
  return last === undefined || first + priorities.length >= waiting
    ? Number.POSITIVE_INFINITY
    : last - passed - 1;
}

/** About how many responses of a flow wait: no more than of its tenant, because those that were cancelled have asked, too. */
function waitingOf({ lead, cost, waiting }: FlowsDemand['flows'][number]): number {
  return Math.min(waiting, Math.max(0, Math.ceil(lead / cost) - 1));
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

function scaled(parts: readonly number[], available: number): number[] {
  const all = sum(parts);
  return parts.map((part) => (available * part) / all);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
