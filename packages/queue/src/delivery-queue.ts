import type { DeliveryRow } from '@sluice/contract/admin';
import type { Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { LeanQueue } from './lean-queue.ts';
import { queuePrefix } from './queue-names.ts';

/** How far a delivery is. `waiting` includes one that waits for its next try. */
type DeliveryState = DeliveryRow['state'];

/** A delivery as the queue knows it. */
export interface KeptDelivery<Data> {
  id: string;
  data: Data;
  state: DeliveryState;
  /** Tries so far. */
  tries: number;
  /** When it was added, in milliseconds by the clock of the process that did. */
  addedAt: number;
  /** When it ended; undefined before. */
  endedAt: number | undefined;
  /** When it is tried next; undefined when it is due or has ended. */
  nextAt: number | undefined;
  /** How the last try ended, in a few words; undefined before the first. */
  note: string | undefined;
}

export interface DeliveryQueueOptions {
  connection: Redis;
  keyPrefix: string;
  /** The name of the queue. It has a colon in no form, and is never the encoded name of a model. */
  name: string;
  onError: (error: Error) => void;
}

/** The states of BullMQ, by ours. */
const statesOf = {
  waiting: ['wait', 'delayed'],
  active: ['active'],
  delivered: ['completed'],
  failed: ['failed'],
} as const satisfies Record<DeliveryState, readonly string[]>;

/** How many of each state `list` looks at most. */
const mostListed = 1_000;

/**
 * A queue of deliveries to somebody outside. A delivery has data of its own, which are small, is tried again by a schedule, and stays for
 * a while after it has ended, so that it can be looked at and sent again. `DeliveryConsumer` takes from it.
 */
export class DeliveryQueue<Data extends object> {
  readonly #queue: Queue;

  constructor({ connection, keyPrefix, name, onError }: DeliveryQueueOptions) {
    this.#queue = new LeanQueue(name, {
      connection,
      prefix: queuePrefix(keyPrefix),
      skipVersionCheck: true,
      skipWaitingForReady: true,
    });
    this.#queue.on('error', onError);
  }

  /** Adds a delivery. While one with the same id is known, adding it again changes nothing. */
  async add(id: string, data: Data, afterMs = 0): Promise<void> {
    await this.#queue.add('delivery', data, { jobId: id, ...(afterMs > 0 && { delay: afterMs }) });
  }

  /** The key of a delivery. It is there while the delivery is known: it waits, is tried, or has ended and stays for a while. */
  keyOf(id: string): string {
    return this.#queue.toKey(id);
  }

  /** The newest deliveries, of these states, those that a test takes. Looks at the last thousand of each state. */
  async list(
    states: readonly DeliveryState[],
    { limit, isWanted = () => true }: { limit: number; isWanted?: (data: Data) => boolean },
  ): Promise<KeptDelivery<Data>[]> {
    const pages = await Promise.all(
      states.map(async (state) => {
        const jobs = await this.#queue.getJobs([...statesOf[state]], 0, mostListed - 1, false);
        return jobs.map((job) => keptDelivery<Data>(job, state));
      }),
    );
    const newest = pages.flat().filter(({ data }) => isWanted(data));
    return newest.toSorted((one, other) => other.addedAt - one.addedAt).slice(0, limit);
  }

  /**
   * Begins a delivery anew that has ended, with other data and as if it had never been tried. Returns why it does not, when it has not
   * ended or is not known.
   */
  async beginAnew(id: string, renew: (data: Data) => Data): Promise<'begun' | 'under_way' | 'unknown'> {
    const job = (await this.#queue.getJob(id)) as Job<Data> | undefined; // `add` alone makes them
    if (!job) return 'unknown';
    const state = await job.getState();
    if (state !== 'completed' && state !== 'failed') return 'under_way';
    await job.updateData(renew(job.data));
    await job.retry(state, { resetAttemptsMade: true });
    return 'begun';
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}

function keptDelivery<Data>(job: Job<Data>, state: DeliveryState): KeptDelivery<Data> {
  const { failedReason, returnvalue, delay } = job;
  const note: unknown = state === 'delivered' ? returnvalue : failedReason;
  return {
    id: job.id ?? '',
    data: job.data,
    state,
    tries: job.attemptsMade,
    addedAt: job.timestamp,
    endedAt: job.finishedOn,
    nextAt: state === 'waiting' && delay > 0 ? (job.processedOn ?? job.timestamp) + delay : undefined,
    note: typeof note === 'string' && note !== '' ? note : undefined,
  };
}
