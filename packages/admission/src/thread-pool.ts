import type { ResourceLimits, Transferable, Worker } from 'node:worker_threads';
import { TenantQueues } from './tenant-queues.ts';

export interface ThreadPoolOptions {
  /** Starts a thread, which posts one message for each that it gets. */
  start: (resourceLimits: ResourceLimits) => Worker;
  /** Heap of a thread, in mebibytes. If it grows, threads that have less are ended once they are idle. */
  heapMib: () => number;
  /** How long a task may take, in milliseconds. */
  withinMs: number;
  /** How long a thread may take to post `ready` before its first task counts; without it, a thread posts none. */
  startWithinMs?: number;
  /** How long an idle thread is kept, in milliseconds; a minute by default. */
  idleMs?: number;
  /** Most threads at a time; a tenant has all but one of them. Two by default. */
  threads?: number;
  /** Gets the errors that end threads. */
  onError: (error: unknown) => void;
}

export interface TaskOptions {
  /** Buffers of the task that move to the thread. */
  transfer?: Transferable[];
  /** Gives up the task. A thread that has begun it finishes it first. */
  signal?: AbortSignal;
}

/** How a task ended. A thread that crashed has thrown an error or exited. */
export type TaskEnd<Result> =
  | { kind: 'done'; result: Result }
  | { kind: 'timed_out' | 'out_of_memory' | 'crashed' | 'aborted' | 'stopped' };

interface Waiting<Task, Result> extends TaskOptions {
  tenant: string;
  task: Task;
  settle: (end: TaskEnd<Result>) => void;
}

interface Thread<Task, Result> {
  worker: Worker;
  heapMib: number;
  isReady: boolean;
  running: Waiting<Task, Result> | undefined;
  /** Ends the thread when it takes too long, or has been idle for long. */
  timer: NodeJS.Timeout | undefined;
}

/**
 * Runs the tasks of tenants in threads, which are started when there is something to do.
 *
 * Tenants take turns, and none has every thread, so tasks of one tenant hold up those of another for one task at most.
 * A thread that takes too long, runs out of its heap or crashes is ended, and another one takes its place. Its task is
 * not repeated.
 */
export class ThreadPool<Task, Result> {
  readonly #options: ThreadPoolOptions & { threads: number; idleMs: number };
  readonly #threads = new Set<Thread<Task, Result>>();
  readonly #waiting = new TenantQueues<Waiting<Task, Result>>();
  #isStopped = false;

  constructor(options: ThreadPoolOptions) {
    this.#options = { threads: 2, idleMs: 60_000, ...options };
  }

  /** Runs a task of a tenant, and says how it ended. */
  run(tenant: string, task: Task, options: TaskOptions = {}): Promise<TaskEnd<Result>> {
    const { signal } = options;
    if (this.#isStopped) return Promise.resolve({ kind: 'stopped' });
    if (signal?.aborted) return Promise.resolve({ kind: 'aborted' });
    return new Promise((resolve) => {
      const onAbort = () => resolve({ kind: 'aborted' });
      const settle = (end: TaskEnd<Result>) => {
        signal?.removeEventListener('abort', onAbort);
        resolve(end);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(tenant, { ...options, tenant, task, settle });
      this.#assign();
    });
  }

  /** Ends every thread. Tasks that run or wait end as `stopped`. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#threads].map((thread) => this.#end(thread, 'stopped')));
    for (let next = this.#waiting.take(); next; next = this.#waiting.take()) next.settle({ kind: 'stopped' });
  }

  #assign(): void {
    while (!this.#isStopped) {
      const heapMib = this.#options.heapMib();
      const idle = [...this.#threads].filter(({ running }) => !running);
      for (const thread of idle) if (thread.heapMib < heapMib) void this.#end(thread, 'stopped');
      const thread = idle.find((each) => this.#threads.has(each));
      if (!thread && this.#threads.size >= this.#options.threads) return;
      const next = this.#take();
      if (!next) return;
      this.#give(thread ?? this.#start(heapMib), next);
    }
  }

  /** The next task that is still wanted, of a tenant that does not have all the threads it may have. */
  #take(): Waiting<Task, Result> | undefined {
    const most = Math.max(1, this.#options.threads - 1);
    const busy = [...this.#threads].map(({ running }) => running?.tenant);
    for (;;) {
      const next = this.#waiting.take((tenant) => busy.filter((each) => each === tenant).length < most);
      if (!next?.signal?.aborted) return next;
    }
  }

  #start(heapMib: number): Thread<Task, Result> {
    // The young generation is tight, so that garbage is collected before it adds up.
    const worker = this.#options.start({ maxOldGenerationSizeMb: heapMib, maxYoungGenerationSizeMb: 8 });
    const isReady = this.#options.startWithinMs === undefined;
    const thread: Thread<Task, Result> = { worker, heapMib, isReady, running: undefined, timer: undefined };
    this.#threads.add(thread);
    worker.on('message', (message: Result | 'ready') => this.#hear(thread, message));
    worker.on('error', (error) => {
      this.#options.onError(error);
      void this.#end(thread, isOutOfMemory(error) ? 'out_of_memory' : 'crashed');
    });
    worker.on('exit', () => void this.#end(thread, 'crashed'));
    return thread;
  }

  #give(thread: Thread<Task, Result>, next: Waiting<Task, Result>): void {
    const { withinMs, startWithinMs = 0 } = this.#options;
    thread.running = next;
    this.#endAfter(thread, thread.isReady ? withinMs : startWithinMs);
    thread.worker.postMessage(next.task, next.transfer ?? []);
  }

  #hear(thread: Thread<Task, Result>, message: Result | 'ready'): void {
    // A message may have been on its way when the thread was ended.
    if (!this.#threads.has(thread)) return;
    if (message === 'ready') {
      thread.isReady = true;
      // It has its first task already, and begins it now.
      this.#endAfter(thread, this.#options.withinMs);
      return;
    }
    const { running } = thread;
    thread.running = undefined;
    this.#endAfter(thread, this.#options.idleMs);
    this.#assign();
    running?.settle({ kind: 'done', result: message });
  }

  #endAfter(thread: Thread<Task, Result>, ms: number): void {
    clearTimeout(thread.timer);
    thread.timer = setTimeout(() => void this.#end(thread, 'timed_out'), ms);
  }

  async #end(thread: Thread<Task, Result>, kind: Exclude<TaskEnd<Result>['kind'], 'done'>): Promise<void> {
    if (!this.#threads.delete(thread)) return;
    clearTimeout(thread.timer);
    thread.running?.settle({ kind });
    await thread.worker.terminate();
    this.#assign();
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
