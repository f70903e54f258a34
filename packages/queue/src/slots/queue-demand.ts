import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { queuePrefix } from '../queue-names.ts';

const script = readFileSync(new URL('../../src/slots/read-slots.lua', import.meta.url), 'utf8');

/** The fewest and the most jobs of each list of a queue that are looked at in a cell. */
const leastLookedAt = 100;
const mostLookedAt = 1_000;

/** The score of a job with the priority 1, as BullMQ has it. */
const perPriority = 2 ** 32;

/** A cell in which jobs of queues run. */
export interface CellOfQueues {
  name: string;
  connection: Pick<Redis, 'eval'>;
  /** Starts every key of the cell. */
  keyPrefix: string;
  /** Says to which flows some running responses of a queue belong. */
  runningFlows: (queue: string, responseIds: readonly string[]) => Promise<RunningFlows>;
}

/** How far the order of a queue has come in a cell, and the flows that run there; see fair-queue.lua in admission. */
export interface RunningFlows {
  /** Distance of the virtual time from the base of the priorities, in ticks. */
  passed: number;
  flows: readonly RunningFlow[];
}

export interface RunningFlow {
  /** How many responses of it run. */
  running: number;
  /** How far one response moves it on, in ticks. */
  cost: number;
  /** How far its next tag is ahead of the virtual time, in ticks; below zero for a flow that has not asked for a while. */
  lead: number;
  /** How many responses of its tenant wait in the cell, whatever their queue. */
  waiting: number;
}

/** The jobs of a queue in a cell. */
export interface QueueDemand {
  /** How many may run there; undefined where nothing limits the queue. */
  limit: number | undefined;
  running: number;
  /** How many a worker could take now. */
  waiting: number;
  /** How many of those have no priority, and come first. */
  first: number;
  /** The priorities of the next of the others, in order. */
  priorities: readonly number[];
  runningIds: readonly string[];
}

/** The same with the flows that run. */
export interface FlowsDemand extends QueueDemand, RunningFlows {}

/** Reads what a queue has to do in a cell, of which up to `most` jobs may run at once; with 0, how much that is and nothing else. */
export async function readDemand(
  { connection, keyPrefix }: CellOfQueues,
  queue: string,
  most: number,
): Promise<QueueDemand> {
  const { meta, active, wait, prioritized } = keysOfQueue(keyPrefix, queue);
  const lookedAt = most === 0 ? 0 : Math.min(Math.max(most, leastLookedAt), mostLookedAt);
  const reply = await connection.eval(script, 4, meta, active, wait, prioritized, lookedAt);
  // By the script.
  const [limit, running, first, ordered, runningIds, scores] = reply as [
    string,
    number,
    number,
    number,
    string[],
    string[],
  ];
  return {
    limit: limit === '' ? undefined : Number(limit),
    running,
    waiting: first + ordered,
    first,
    priorities: scores.map((score) => Math.floor(Number(score) / perPriority)),
    runningIds,
  };
}

/** The keys of a queue, as BullMQ names them. */
export function keysOfQueue(keyPrefix: string, queue: string) {
  const key = (name: string) => `${queuePrefix(keyPrefix)}:${queue}:${name}`;
  return { meta: key('meta'), active: key('active'), wait: key('wait'), prioritized: key('prioritized') };
}
