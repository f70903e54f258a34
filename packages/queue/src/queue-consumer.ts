import { DelayedError, type Job, type Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { closeWorker } from './close-worker.ts';
import { type Outcome, settle } from './outcome.ts';
import { KeptSample } from './kept-sample.ts';
import { longestBlockSeconds } from './patient-worker.ts';
import { queuePrefix } from './queue-names.ts';
import { SlotWorker } from './slot-worker.ts';

/**
 * Slots of one BullMQ worker. They are few, because it fetches until its slots are full before it starts anything. Each BullMQ
 * worker also has a connection that asks the store once a second, so their number is bounded, and a process with many slots
 * gives each of them more.
 */
const slotsPerWorker = 8;
const mostWorkers = 32;

/** When to look again at a job that this process runs already, in milliseconds. */
const redeliverAfterMs = 1_000;

export interface QueueConsumerOptions {
  connection: Redis;
  keyPrefix: string;
  /** The queues to begin with, each with a set of slots of its own; see `serve`. */
  names: readonly string[];
  /** Attempts that run at once, for each queue. */
  concurrency: number;
  /** How many consumers of this process share these slots, each in a cell of its own; 1 by default. */
  consumers?: number;
  lockMs: number;
  stalledMs: number;
  /** How many finished jobs stay for the dashboard. Completed ones are a sample when they come fast. */
  keep: { completed: number; failed: number };
  /** Runs one attempt. Never rejects for a failed response. */
  run: (responseId: string) => Promise<Outcome>;
  /** Called when a job has been deferred: it waits where `letIn` finds it. */
  onDeferred: (responseId: string, queue: string) => void;
  onError: (error: Error) => void;
  /** Whether an error says that the store answers and refuses writes for now; none does by default. */
  isRefusal?: (error: Error) => boolean;
  /** Called when an attempt rejected, which is a defect: its job is failed and the rescue looks after the response. */
  onDefect: (error: unknown, responseId: string) => void;
}

/**
 * Takes jobs from the queues and runs them.
 *
 * Several BullMQ workers share the slots of a queue, so that a burst starts at once and not after the last job of it has been
 * fetched. The lock of a job does not decide who runs the response: it may lapse while Redis is away, and the job is delivered
 * again. The claim of the response decides.
 */
export class QueueConsumer {
  readonly #options: QueueConsumerOptions;
  /** The BullMQ workers of each queue that is served. */
  readonly #served = new Map<string, readonly SlotWorker[]>();
  /** The BullMQ workers of queues that are not served any more, until their last jobs have ended. */
  readonly #leaving = new Set<Worker>();
  /** The slots of queues that have others than at the start. */
  readonly #slots = new Map<string, number>();
  readonly #held = new Map<string, { until: number; timer: NodeJS.Timeout }>();
  /** Jobs that run here, by id. */
  readonly #running = new Set<string>();
  /** How many attempts are under way: the jobs that run, without those whose outcome is told to the queue. */
  #runsUnderWay = 0;
  readonly #sample = new KeptSample();
  readonly #taken = new Map<string, number>();
  readonly #refused = new Map<string, number>();
  readonly #busy = new Map<string, number>();
  #names: readonly string[];
  #hasStarted = false;
  #isQuiet = false;

  constructor(options: QueueConsumerOptions) {
    this.#options = options;
    this.#names = options.names;
  }

  /** Starts taking jobs. Waits for the store as long as it takes. */
  start(): void {
    this.#hasStarted = true;
    this.serve(this.#names);
  }

  /**
   * Takes jobs of these queues from now on, and of no others. Jobs of a queue that is not served any more run to their ends,
   * and a BullMQ worker that waits for one at this moment may still take it and gives it back.
   */
  serve(names: readonly string[]): void {
    this.#names = [...names];
    if (!this.#hasStarted || this.#isQuiet) return;
    for (const name of this.#names) {
      if (this.#served.has(name)) continue;
      const workers = shares(this.#options.concurrency, this.leastSlots).map((slots) =>
        this.#startWorker(name, slots),
      );
      this.#served.set(name, workers);
      const slots = this.#slots.get(name);
      if (slots !== undefined) this.setSlots(name, slots);
    }
    for (const [name, workers] of this.#served) if (!this.#names.includes(name)) this.#leave(name, workers);
  }

  /** Whether every BullMQ worker fetches, except those of held queues. */
  get isRunning(): boolean {
    return (
      this.#hasStarted &&
      this.#workers.every(
        (worker) => this.#held.has(worker.name) || (worker.isRunning() && !worker.isPaused()),
      )
    );
  }

  /** How many jobs of a queue were delivered to this consumer so far. */
  taken(name: string): number {
    return this.#taken.get(name) ?? 0;
  }

  /** How often the store has refused a step in a queue so far; see `isRefusal`. */
  refused(name: string): number {
    return this.#refused.get(name) ?? 0;
  }

  /** How many jobs of a queue this consumer has in hand. */
  inHand(name: string): number {
    return this.#busy.get(name) ?? 0;
  }

  /** Whether this consumer takes jobs of a queue: it serves the queue and does not hold it, and does not stop. */
  isTaking(name: string): boolean {
    return !this.#isQuiet && this.#served.has(name) && !this.#held.has(name);
  }

  /** Whether this consumer could take another job of a queue. */
  hasFreeSlot(name: string): boolean {
    if (!this.isTaking(name)) return false;
    return (this.#busy.get(name) ?? 0) < this.#slotsOf(name);
  }

  /** Gives a queue so many slots from now on. Jobs that have one keep it, and each BullMQ worker keeps one; see `leastSlots`. */
  setSlots(name: string, slots: number): void {
    this.#slots.set(name, slots);
    const workers = this.#served.get(name) ?? [];
    for (const [at, share] of shares(slots, workers.length).entries()) workers[at]?.setConcurrency(share);
  }

  /** The fewest slots that a queue can have. */
  get leastSlots(): number {
    return workersFor(this.#options);
  }

  /**
   * Takes no jobs of a queue for a while. Running jobs go on, and other processes are not affected. A BullMQ worker that waits
   * for a job at this moment may still take one. Another call can make a hold longer, and never shorter.
   */
  hold(name: string, forMs: number): void {
    const until = performance.now() + forMs;
    const held = this.#held.get(name);
    const workers = this.#served.get(name);
    if (!workers || this.#isQuiet || (held && held.until >= until)) return;
    clearTimeout(held?.timer);
    const timer = setTimeout(() => {
      this.#held.delete(name);
      for (const worker of workers) worker.resume().catch(this.#options.onError);
    }, forMs);
    this.#held.set(name, { until, timer });
    if (!held) for (const worker of workers) worker.pause(true).catch(this.#options.onError);
  }

  /** Takes no new jobs. Running jobs go on. */
  async quiet(): Promise<void> {
    this.#beQuiet();
    await Promise.all(this.#workers.map((worker) => worker.pause(true)));
  }

  /**
   * Resolves when no job runs any more and jobs that were given back have left their locks. While Redis is away it waits for
   * running jobs alone, and then ends the connection.
   */
  async stop(): Promise<void> {
    this.#beQuiet();
    // A run that is over may wait for Redis to move its job. It would wait for as long as Redis is away.
    const isIdle = () => this.#runsUnderWay === 0;
    const all = [...this.#workers, ...this.#leaving];
    await Promise.all(all.map((worker) => closeWorker(worker, this.#options.connection, isIdle)));
  }

  #slotsOf(name: string): number {
    return this.#slots.get(name) ?? this.#options.concurrency;
  }

  get #workers(): Worker[] {
    return [...this.#served.values()].flat();
  }

  #leave(name: string, workers: readonly Worker[]): void {
    this.#served.delete(name);
    clearTimeout(this.#held.get(name)?.timer);
    this.#held.delete(name);
    for (const worker of workers) {
      this.#leaving.add(worker);
      // `stop` alone may cut the connection that all of them share.
      closeWorker(worker, undefined, () => false)
        .catch(this.#options.onError)
        .finally(() => this.#leaving.delete(worker));
    }
  }

  #beQuiet(): void {
    this.#isQuiet = true;
    for (const { timer } of this.#held.values()) clearTimeout(timer);
    this.#held.clear();
  }

  /** Handles one delivery of a job. */
  async #process(name: string, job: Job<{ id: string }>, token: string | undefined): Promise<void> {
    this.#taken.set(name, this.taken(name) + 1);
    this.#busy.set(name, (this.#busy.get(name) ?? 0) + 1);
    try {
      await this.#deliver(name, job, token);
    } finally {
      this.#busy.set(name, (this.#busy.get(name) ?? 0) - 1);
    }
  }

  async #deliver(name: string, job: Job<{ id: string }>, token: string | undefined): Promise<void> {
    // A BullMQ worker that waits for a job when it is paused or closed still takes one.
    if (this.#isQuiet || !this.#served.has(name)) return settle({ kind: 'given_back' }, job, token);
    const responseId = job.id ?? job.data.id;
    // The lock lapsed, and the job was delivered again to the process that still runs it. BullMQ keeps locks by job id, so
    // the older run must be over before another begins here.
    if (this.#running.has(responseId))
      return settle({ kind: 'later', afterMs: redeliverAfterMs }, job, token);
    this.#running.add(responseId);
    let outcome: Outcome | undefined;
    try {
      outcome = await this.#run(responseId);
      if (!this.#sample.keeps(performance.now())) job.opts.removeOnComplete = true;
      await settle(outcome, job, token);
    } catch (error) {
      if (error instanceof DelayedError && outcome?.kind === 'deferred')
        this.#options.onDeferred(responseId, job.queueName);
      throw error;
    } finally {
      this.#running.delete(responseId);
    }
  }

  async #run(responseId: string): Promise<Outcome> {
    this.#runsUnderWay += 1;
    try {
      return await this.#options.run(responseId);
    } catch (error) {
      // The error is not passed on, because BullMQ would keep it for the dashboard. The rescue looks after the response.
      this.#options.onDefect(error, responseId);
      return { kind: 'failed', code: 'server_error' };
    } finally {
      this.#runsUnderWay -= 1;
    }
  }

  #startWorker(name: string, slots: number): SlotWorker {
    const { connection, keyPrefix, lockMs, stalledMs, keep, onError, isRefusal } = this.#options;
    const worker = new SlotWorker(name, (job, token) => this.#process(name, job, token), {
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
    worker.on('error', (error) => {
      if (isRefusal?.(error)) this.#refused.set(name, this.refused(name) + 1);
      onError(error);
    });
    return worker;
  }
}

/** How many BullMQ workers take jobs of a queue. */
function workersFor({ concurrency, consumers = 1 }: QueueConsumerOptions): number {
  return Math.min(Math.ceil(concurrency / (slotsPerWorker * consumers)), mostWorkers);
}

/** Splits slots into so many shares, which differ by one at most. */
function shares(slots: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => Math.floor((slots + at) / count));
}
