import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { LeanQueue } from './lean-queue.ts';
import { type QueueDepth, readDepth } from './queue-depth.ts';
import { type Mistimed, readMistimed } from './mistimed-job.ts';
import type { QueueBacklog, QueueCounts, QueueRoom } from './queue-figures.ts';
import { jobName, queuePrefix } from './queue-names.ts';

/**
 * How long a deferred job stays outside its queue when nobody lets it in, in milliseconds: a day. There may be many, and all
 * of them come to the front when their time is up. The rescue finds forgotten ones long before.
 */
const longestDeferredMs = 86_400_000;

export interface ResponseQueueOptions {
  connection: Redis;
  keyPrefix: string;
  /** Names of the queues of the settings, so that the dashboard and the metrics show one that was never used; see `setNames`. */
  names: readonly string[];
  onError: (error: Error) => void;
  /** Called when a deferred job could not be let into its queue. */
  onLetInFailed?: (error: unknown, responseId: string) => void;
}

/** A deferred job that may go into its queue. */
export interface DeferredJob {
  queue: string;
  responseId: string;
  priority: number;
}

/**
 * Adds jobs to the queues, and counts, moves and removes them. A job carries the id of its response, as its own id and as its
 * data, and nothing else: BullMQ keeps no prompt and no answer for the dashboard.
 */
export class ResponseQueue {
  readonly #options: ResponseQueueOptions;
  readonly #connection: Redis;
  /** Those that were used so far, whether or not they are among the names. */
  readonly #queues = new Map<string, Queue>();
  #names: readonly string[] = [];

  constructor(options: ResponseQueueOptions) {
    this.#options = options;
    this.#connection = options.connection;
    this.setNames(options.names);
  }

  /**
   * Replaces the names. A queue that is not among them can still be used: a record may name a queue of which the settings of
   * this process say nothing yet, or nothing any more.
   */
  setNames(names: readonly string[]): void {
    this.#names = [...names];
    for (const name of names) this.#queue(name);
  }

  /** Adds the job of a response. Adding it twice leaves one. The lowest priority, from 1, is next. */
  async enqueue(name: string, responseId: string, priority: number): Promise<void> {
    await this.#add(name, responseId, { priority });
  }

  /** Adds the job again after taking away a finished one: BullMQ silently ignores an id that it still keeps. */
  async enqueueAgain(name: string, responseId: string, priority: number): Promise<void> {
    const job = await this.#queue(name).getJob(responseId);
    const state = await job?.getState();
    if (job && (state === 'completed' || state === 'failed')) await job.remove();
    await this.enqueue(name, responseId, priority);
  }

  /** Adds the job of a response as deferred: no worker takes it before `letIn`. The dashboard shows it as delayed. */
  async defer(name: string, responseId: string): Promise<void> {
    await this.#add(name, responseId, { priority: 1, delay: longestDeferredMs });
  }

  /** Moves a deferred job into its queue. Does nothing if it is there already, and adds it if it was lost. */
  async letIn(name: string, responseId: string, priority: number): Promise<void> {
    const job = await this.#queue(name).getJob(responseId);
    if (!job) return this.enqueue(name, responseId, priority);
    if (!(await this.isDeferred(name, responseId))) return;
    await job.changePriority({ priority });
    try {
      await job.promote();
    } catch (error) {
      // Another process may have moved it meanwhile.
      if (await this.isDeferred(name, responseId)) throw error;
    }
  }

  /** Lets several in, each on its own. If one fails, the rescue lets it in later. */
  letInAll(deferred: readonly DeferredJob[]): void {
    for (const { queue, responseId, priority } of deferred) {
      this.letIn(queue, responseId, priority).catch((error: unknown) => {
        this.#options.onLetInFailed?.(error, responseId);
      });
    }
  }

  /** Whether the job of a response is deferred. */
  async isDeferred(name: string, responseId: string): Promise<boolean> {
    return (await this.#connection.zscore(this.#queue(name).toKey('delayed'), responseId)) !== null;
  }

  /** How many jobs are before that of a response; undefined when it does not wait in its queue. */
  async ahead(name: string, responseId: string): Promise<number | undefined> {
    const rank = await this.#connection.zrank(this.#queue(name).toKey('prioritized'), responseId);
    return rank ?? undefined;
  }

  /**
   * How many jobs have left a queue so far, to be run or for good. Only the growth of the number has a meaning: it is BullMQ's
   * count of jobs that were ever added, less those that still wait.
   */
  async departures(name: string): Promise<number> {
    const queue = this.#queue(name);
    const [added, waiting, ordered, delayed] = await Promise.all([
      this.#connection.get(queue.toKey('id')),
      this.#connection.llen(queue.toKey('wait')),
      this.#connection.zcard(queue.toKey('prioritized')),
      this.#connection.zcard(queue.toKey('delayed')),
    ]);
    return Number(added ?? 0) - waiting - ordered - delayed;
  }

  /** Where and how BullMQ keeps the jobs of a queue that have a priority, in the cell of a response, for the scripts that number them. */
  order(name: string, _responseId?: string): { jobs: string; jobPrefix: string; perPriority: number } {
    const queue = this.#queue(name);
    return { jobs: queue.toKey('prioritized'), jobPrefix: queue.toKey(''), perPriority: 2 ** 32 };
  }

  /** Removes a waiting job. A job that a worker has taken stays, and the worker finds nothing to run. */
  async remove(name: string, responseId: string): Promise<void> {
    await this.#queue(name).remove(responseId);
  }

  /**
   * Whether BullMQ still means to run the response: waiting, delayed or in a worker's hands.
   *
   * Such a job has a hash without the time of its end. A search in the lists of its queue, as BullMQ does it, would cost more
   * the longer they are.
   */
  async isPending(name: string, responseId: string): Promise<boolean> {
    const [addedAt, endedAt] = await this.#connection.hmget(
      this.#queue(name).toKey(responseId),
      'timestamp',
      'finishedOn',
    );
    return addedAt != null && endedAt == null;
  }

  /** Reads whether a job waits for a time that a wrong clock has set or does not see; `now`: by the store's clock, in milliseconds. */
  mistimed(name: string, responseId: string, now: number): Promise<Mistimed | undefined> {
    const queue = this.#queue(name);
    return readMistimed(this.#connection, (key) => queue.toKey(key), { responseId, now });
  }

  /** Limits how many jobs of a queue run at once over all workers; undefined lifts the limit. */
  async limitConcurrency(name: string, concurrency: number | undefined): Promise<void> {
    const queue = this.#queue(name);
    if (concurrency === undefined) await queue.removeGlobalConcurrency();
    else await queue.setGlobalConcurrency(concurrency);
  }

  /** Rejects while Redis is away, also before the first connection, for which BullMQ would wait. */
  async counts(name: string): Promise<QueueCounts> {
    if (this.#connection.status !== 'ready') throw new Error('Connection is closed.');
    const counts = await this.#queue(name).getJobCounts();
    const of = (state: string) => counts[state] ?? 0;
    return {
      waiting: of('waiting') + of('prioritized') + of('waiting-children'),
      active: of('active'),
      delayed: of('delayed'),
      completed: of('completed'),
      failed: of('failed'),
      paused: of('paused'),
    };
  }

  /** Pauses a queue for every process until `resume`. Running jobs go on. Safe to call twice. */
  async pause(name: string): Promise<void> {
    await this.#queue(name).pause();
  }

  async resume(name: string): Promise<void> {
    await this.#queue(name).resume();
  }

  /** The queues that are paused. */
  async pausedNames(): Promise<string[]> {
    const names = this.names;
    const fields = names.map((name) => this.#connection.hexists(this.#queue(name).toKey('meta'), 'paused'));
    const found = await Promise.all(fields);
    return names.filter((_name, at) => found[at] === 1);
  }

  /**
   * Ids of responses that wait for a worker, or for a time, the next ones first; or of those whose jobs workers have, which may wait for
   * their claims: the answer to a worker that took a job can be lost, and the job is taken again a few seconds later.
   */
  async waitingIds(
    name: string,
    { waitsFor, first, count }: { waitsFor: 'worker' | 'time' | 'claim'; first: number; count: number },
  ): Promise<string[]> {
    const queue = this.#queue(name);
    const last = first + count - 1;
    if (waitsFor === 'claim') return this.#connection.lrange(queue.toKey('active'), first, last);
    if (waitsFor === 'time')
      return this.#connection.zrange(queue.toKey('delayed'), String(first), String(last));
    // Jobs that a worker lost, or an older release has added, have no priority, and come first.
    const [lost, ordered] = await Promise.all([
      queue.getWaiting(first, last),
      queue.getPrioritized(first, last),
    ]);
    return [...lost, ...ordered].slice(0, count).flatMap(({ id }) => id ?? []);
  }

  /** Reads the backlog of a queue. Rejects while Redis is away, like `counts`. */
  async backlog(name: string): Promise<QueueBacklog> {
    const { waiting, active, delayed } = await this.counts(name);
    const queue = this.#queue(name);
    const [isPaused, [lost], [next]] = await Promise.all([
      queue.isPaused(),
      queue.getWaiting(0, 0),
      queue.getPrioritized(0, 0),
    ]);
    const oldest = lost ?? next;
    const oldestWaitMs = oldest && Math.max(0, Date.now() - oldest.timestamp);
    return { waiting: waiting + delayed, active, isPaused, oldestWaitMs };
  }

  /** Whether nothing waits in a queue, or runs. Rejects while Redis is away: what cannot be seen may be there. */
  async isEmpty(name: string): Promise<boolean> {
    const { waiting, active, delayed } = await this.counts(name);
    return waiting + active + delayed === 0;
  }

  /** Reads the depth of a queue in one command. Rejects while Redis is away, like `counts`. */
  async depth(name: string): Promise<QueueDepth> {
    if (this.#connection.status !== 'ready') throw new Error('Connection is closed.');
    const queue = this.#queue(name);
    return readDepth(this.#connection, (key) => queue.toKey(key));
  }

  async room(name: string): Promise<QueueRoom> {
    const queue = this.#queue(name);
    const [counts, isPaused, limit, rateLimitMs] = await Promise.all([
      queue.getJobCounts('wait', 'prioritized', 'active'),
      queue.isPaused(),
      queue.getGlobalConcurrency(),
      // Sluice sets no rate limit, but an operator can by hand.
      queue.getRateLimitTtl(),
    ]);
    return {
      waiting: (counts['wait'] ?? 0) + (counts['prioritized'] ?? 0),
      isPaused,
      hasRoom: rateLimitMs <= 0 && (limit === null || (counts['active'] ?? 0) < limit),
    };
  }

  get names(): readonly string[] {
    return this.#names;
  }

  /** The queues as BullMQ objects, for the dashboard alone. */
  forDashboard(): Queue[] {
    return this.#names.map((name) => this.#queue(name));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }

  async #add(name: string, responseId: string, options: { priority: number; delay?: number }): Promise<void> {
    const job = { jobId: responseId, stackTraceLimit: 0, ...options };
    await this.#queue(name).add(jobName, { id: responseId }, job);
  }

  #queue(name: string): Queue {
    const known = this.#queues.get(name);
    if (known) return known;
    const { connection, keyPrefix, onError } = this.#options;
    const queue = new LeanQueue(name, {
      connection,
      prefix: queuePrefix(keyPrefix),
      skipVersionCheck: true,
      // Nobody reads BullMQ's own events. A short tail is kept for debugging.
      streams: { events: { maxLen: 100 } },
    });
    queue.on('error', onError);
    this.#queues.set(name, queue);
    return queue;
  }
}
