import { DelayedError, type Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { type Outcome, settle } from './outcome.ts';
import { KeptSample } from './kept-sample.ts';
import { queuePrefix } from './queue-names.ts';

/**
 * Slots of one BullMQ worker, as long as those are few: it fetches until its slots are full before it starts anything. Each
 * BullMQ worker has a connection that asks the store once a second, so there is an end to their number, and a process with more
 * slots than that gives each of them more.
 */
const slotsPerWorker = 8;
const mostWorkers = 32;

/**
 * Longest read that waits for a job, in seconds. BullMQ would wait for up to ten until a delayed job is due, and a
 * connection that hears nothing for some seconds counts as dead (`runtime/src/redis-heartbeat.ts`). A closing worker
 * can hold a slot of the global concurrency for this long.
 */
const longestBlockSeconds = 1;

class BriefWorker extends Worker<{ id: string }> {
  override get maximumBlockTimeout(): number {
    return longestBlockSeconds;
  }
}

/** When a job is looked at again that this process runs already, in milliseconds. */
const redeliverAfterMs = 1_000;

export interface QueueConsumerOptions {
  connection: Redis;
  keyPrefix: string;
  /** One set of slots for each queue. */
  names: readonly string[];
  /** Attempts that run at once, for each queue. */
  concurrency: number;
  lockMs: number;
  stalledMs: number;
  /** How many finished jobs stay for the dashboard. Completed ones are a sample when they come fast. */
  keep: { completed: number; failed: number };
  /** Runs one attempt. Never rejects for a failed response. */
  run: (responseId: string) => Promise<Outcome>;
  /** Called when a job has been deferred: it waits where `letIn` finds it. */
  onDeferred: (responseId: string) => void;
  onError: (error: Error) => void;
  /** Called when an attempt rejected, which is a defect: its job is failed and the rescue looks after the response. */
  onDefect: (error: unknown, responseId: string) => void;
}

/**
 * The queues, from the side that empties them.
 *
 * Several BullMQ workers share the slots of a queue, so that a burst starts at once instead of when the last of
 * it has been fetched. A lock says that a job is in good hands and nothing more: it may lapse while Redis is away, and the
 * job is delivered again. Who may run a response is decided by its claim.
 */
export class QueueConsumer {
  readonly #options: QueueConsumerOptions;
  readonly #workers: Worker[] = [];
  readonly #held = new Map<string, { until: number; timer: NodeJS.Timeout }>();
  /** Jobs that run here, by id. */
  readonly #running = new Set<string>();
  readonly #sample = new KeptSample();
  readonly #taken = new Map<string, number>();
  readonly #busy = new Map<string, number>();
  #isQuiet = false;

  constructor(options: QueueConsumerOptions) {
    this.#options = options;
  }

  /** Starts taking jobs. Waits for the store as long as it takes. */
  start(): void {
    for (const name of this.#options.names) {
      for (const slots of shares(this.#options.concurrency))
        this.#workers.push(this.#startWorker(name, slots));
    }
  }

  /** Whether every BullMQ worker is fetching, but for those of queues that are held. */
  get isRunning(): boolean {
    return (
      this.#workers.length > 0 &&
      this.#workers.every(
        (worker) => this.#held.has(worker.name) || (worker.isRunning() && !worker.isPaused()),
      )
    );
  }

  /** How many jobs of a queue were delivered to this consumer so far. */
  taken(name: string): number {
    return this.#taken.get(name) ?? 0;
  }

  /** How many jobs of a queue this consumer has in hand. */
  inHand(name: string): number {
    return this.#busy.get(name) ?? 0;
  }

  /** Whether this consumer means to take jobs of a queue: it does not stop, and the queue is not held. */
  isTaking(name: string): boolean {
    return !this.#isQuiet && !this.#held.has(name);
  }

  /** Whether this consumer could take another job of a queue. */
  hasFreeSlot(name: string): boolean {
    if (!this.isTaking(name)) return false;
    return (this.#busy.get(name) ?? 0) < this.#options.concurrency;
  }

  /**
   * Takes no jobs of a queue here for a while; those that run go on, and other processes take what they like. A BullMQ
   * worker that waits for a job at this moment may still take one. A hold can be made longer, and never shorter.
   */
  hold(name: string, forMs: number): void {
    const until = performance.now() + forMs;
    const held = this.#held.get(name);
    if (this.#isQuiet || (held && held.until >= until)) return;
    clearTimeout(held?.timer);
    const workers = this.#workers.filter((worker) => worker.name === name);
    const timer = setTimeout(() => {
      this.#held.delete(name);
      for (const worker of workers) worker.resume().catch(this.#options.onError);
    }, forMs);
    this.#held.set(name, { until, timer });
    if (!held) for (const worker of workers) worker.pause(true).catch(this.#options.onError);
  }

  /** Takes no new jobs; those that run go on. */
  async quiet(): Promise<void> {
    this.#beQuiet();
    await Promise.all(this.#workers.map((worker) => worker.pause(true)));
  }

  /**
   * Resolves when nothing runs any more; jobs that were given back have left their locks. While Redis is away it
   * waits for what still runs, and for nothing else: the connection is ended then.
   */
  async stop(): Promise<void> {
    this.#beQuiet();
    const isIdle = () => this.#running.size === 0;
    await Promise.all(this.#workers.map((worker) => closeWorker(worker, this.#options.connection, isIdle)));
  }

  #beQuiet(): void {
    this.#isQuiet = true;
    for (const { timer } of this.#held.values()) clearTimeout(timer);
    this.#held.clear();
  }

  /** One delivery of a job, as BullMQ calls for it. */
  async #process(name: string, job: Job<{ id: string }>, token: string | undefined): Promise<void> {
    this.#taken.set(name, this.taken(name) + 1);
    this.#busy.set(name, (this.#busy.get(name) ?? 0) + 1);
    try {
      await this.#deliver(job, token);
    } finally {
      this.#busy.set(name, (this.#busy.get(name) ?? 0) - 1);
    }
  }

  async #deliver(job: Job<{ id: string }>, token: string | undefined): Promise<void> {
    // A paused BullMQ worker that waits for a job when it is told still takes one.
    if (this.#isQuiet) return settle({ kind: 'given_back' }, job, token);
    const responseId = job.id ?? job.data.id;
    // Its lock lapsed and it was delivered again, to the very process that still runs it. BullMQ keeps account of locks
    // by job id alone, so the older run must be over before another one begins here.
    if (this.#running.has(responseId))
      return settle({ kind: 'later', afterMs: redeliverAfterMs }, job, token);
    this.#running.add(responseId);
    let outcome: Outcome | undefined;
    try {
      outcome = await this.#run(responseId);
      if (!this.#sample.keeps(performance.now())) job.opts.removeOnComplete = true;
      await settle(outcome, job, token);
    } catch (error) {
      if (error instanceof DelayedError && outcome?.kind === 'deferred') this.#options.onDeferred(responseId);
      throw error;
    } finally {
      this.#running.delete(responseId);
    }
  }

  async #run(responseId: string): Promise<Outcome> {
    try {
      return await this.#options.run(responseId);
    } catch (error) {
      // Whatever it says stays here: BullMQ would keep it for the dashboard. The rescue looks after the response.
      this.#options.onDefect(error, responseId);
      return { kind: 'failed', code: 'server_error' };
    }
  }

  #startWorker(name: string, slots: number): Worker {
    const { connection, keyPrefix, lockMs, stalledMs, keep, onError } = this.#options;
    const worker = new BriefWorker(name, (job, token) => this.#process(name, job, token), {
      connection,
      prefix: queuePrefix(keyPrefix),
      concurrency: slots,
      lockDuration: lockMs,
      // BullMQ renews in half of that, so twice before a lock lapses.
      lockRenewTime: Math.floor((lockMs * 2) / 3),
      stalledInterval: stalledMs,
      removeOnComplete: { count: keep.completed },
      removeOnFail: { count: keep.failed },
      // Attempts are counted in the record; a high limit keeps bystanders of two crashes alive.
      maxStalledCount: 1_000,
      drainDelay: longestBlockSeconds,
      skipVersionCheck: true,
    });
    worker.on('error', onError);
    return worker;
  }
}

/** How often a closing worker is looked at, in milliseconds. */
const nudgeEveryMs = 100;

/**
 * Closes a BullMQ worker, also while Redis is away. BullMQ cuts its blocking connection and waits until that has
 * ended, and it waits for the answer to a fetch, or to the end of a job. The answers that will not come are given
 * up once nothing runs any more; a job whose end was not heard is delivered again, and its claim finds nothing to do.
 */
async function closeWorker(worker: Worker, connection: Redis, isIdle: () => boolean): Promise<void> {
  const blocking = blockingClientOf(worker);
  const nudge = setInterval(() => {
    if (blocking) endIfAway(blocking);
    if (isIdle()) endIfAway(connection);
  }, nudgeEveryMs);
  try {
    await worker.close();
  } finally {
    clearInterval(nudge);
  }
}

/** The part of a client that a stop needs. */
type EndableClient = Pick<Redis, 'status' | 'connect' | 'disconnect'>;

/** BullMQ promises this client once it was ready, which it never is when Redis went away before that. */
function blockingClientOf({ backend }: Worker): EndableClient | undefined {
  const { blockingConnection } = backend;
  // A protected member of BullMQ's class, set by its constructor to a client that ioredis made.
  return blockingConnection && (Reflect.get(blockingConnection, '_client') as EndableClient | undefined);
}

/**
 * Ends a connection that is between two attempts. It has no socket to be cut and would never end (ioredis), so it
 * is made to attempt, and that attempt is cut.
 */
function endIfAway(client: EndableClient): void {
  if (client.status !== 'reconnecting') return;
  client.connect().catch(() => undefined);
  client.disconnect();
}

/** Splits slots into shares that differ by one at most. */
function shares(slots: number): number[] {
  const count = Math.min(Math.ceil(slots / slotsPerWorker), mostWorkers);
  return Array.from({ length: count }, (_, at) => Math.floor((slots + at) / count));
}
