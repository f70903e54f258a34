import { admissionFragments } from '@sluice/admission';
import type { Cell } from '../record/cells.ts';
import type { StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';

const renumberScript = defineScript({
  by: 'rescue',
  file: new URL('../../src/rescue/renumber.lua', import.meta.url),
  fragments: admissionFragments,
  keys: ['fair', 'far', 'jobs'],
  args: ['queue', 'job_prefix', 'per_priority', 'most'],
  numbers: ['per_priority', 'most'],
});

/** Jobs moved by one script: some milliseconds of everybody's time. */
const most = 500;

/** Where the queue keeps its waiting jobs; see `ResponseQueue.order`. */
export interface JobOrder {
  /** Key of a sorted set: the waiting jobs, scored by `priority * perPriority` and their order within it. */
  jobs: string;
  /** The prefix of an id in the key of a job, a hash with the field `priority`. */
  jobPrefix: string;
  perPriority: number;
}

/** Queues whose priorities have gone far. */
export function farQueues({ redis, keys }: StoreAccess, cell: Cell): Promise<string[]> {
  return redis.smembers(keys.inCell(cell).far);
}

/**
 * Keeps the priorities of a queue below their end. Does nothing most of the time; otherwise one step of it.
 *
 * @returns whether there is more to do.
 */
export async function renumber(
  { redis, keys }: StoreAccess,
  cell: Cell,
  queue: string,
  { jobs, jobPrefix, perPriority }: JobOrder,
): Promise<boolean> {
  const ofCell = keys.inCell(cell);
  const moved = await renumberScript(redis, {
    keys: { fair: ofCell.fair(queue), far: ofCell.far, jobs },
    args: { queue, job_prefix: jobPrefix, per_priority: perPriority, most },
  });
  return moved === most;
}
