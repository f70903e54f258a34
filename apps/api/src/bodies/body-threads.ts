import { ServiceError } from '@sluice/contract';
import type { PreparedRequest } from '@sluice/response-store';
import { startThread } from '@sluice/runtime';
import type { Worker } from 'node:worker_threads';
import type { BodyResult, BodyTask } from './body-thread.ts';
import { TenantQueues } from './tenant-queues.ts';

export interface BodyThreadsOptions {
  /** Most bytes of a body. */
  bodyBytes: number;
  /** Most threads at a time; a tenant has all but one of them. Two by default. */
  threads?: number;
  /** How long a thread may take for one body, in milliseconds; 10 s by default. */
  withinMs?: number;
  /** How long a thread stays with nothing to do, in milliseconds; a minute by default. */
  idleMs?: number;
  /** The module of the thread. */
  module?: URL;
  onError: (error: unknown) => void;
}

interface Waiting {
  task: BodyTask;
  tenant: string;
  settled: PromiseWithResolvers<PreparedRequest>;
}

/** A thread, and what it works at. */
interface Thread {
  worker: Worker;
  /** Size of the body it works at, or worked at last. */
  bytes: number;
  waiting: Waiting | undefined;
  /** Ends it: when it takes too long, or has had nothing to do for long. */
  timer: NodeJS.Timeout | undefined;
}

const MIB = 1024 * 1024;

/** Heap of a thread besides what grows with a body: modules, and values of 50,000 members. */
const ownHeapMib = 96;

/** A thread that has read a larger body ends, which gives back at once what a collection of its heap might leave. */
const lastingBytes = 4 * MIB;

/**
 * Prepares large bodies beside the event loop, in threads that are started when there is something to do.
 *
 * Tenants take turns, and none has every thread, so bodies of one tenant hold up those of another for one body at most.
 * A thread that takes too long, runs out of its heap or crashes is ended, its caller is told so, and another one takes
 * its place.
 */
export class BodyThreads {
  readonly #options: Required<BodyThreadsOptions>;
  readonly #threads = new Set<Thread>();
  readonly #waiting = new TenantQueues<Waiting>();
  #isStopped = false;

  constructor(options: BodyThreadsOptions) {
    this.#options = {
      threads: 2,
      withinMs: 10_000,
      idleMs: 60_000,
      module: new URL('./body-thread.ts', import.meta.url),
      ...options,
    };
  }

  /**
   * Prepares a body. Its bytes are transferred: the caller has none of them afterwards.
   *
   * @throws {ServiceError} that says what is wrong with the body, or that it could not be read.
   */
  prepare(tenant: string, task: BodyTask): Promise<PreparedRequest> {
    if (this.#isStopped) return Promise.reject(unreadable());
    const settled = Promise.withResolvers<PreparedRequest>();
    this.#waiting.add(tenant, { task, tenant, settled });
    this.#assign();
    return settled.promise;
  }

  /** Ends every thread. Bodies that are under way are refused. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#threads].map((thread) => this.#end(thread, unreadable())));
    for (let next = this.#take(); next; next = this.#take()) next.settled.reject(unreadable());
  }

  #assign(): void {
    while (!this.#isStopped) {
      const thread = [...this.#threads].find(({ waiting }) => !waiting);
      if (!thread && this.#threads.size >= this.#options.threads) return;
      const next = this.#take();
      if (!next) return;
      this.#run(thread ?? this.#start(), next);
    }
  }

  /** The next body of a tenant that does not have all the threads it may have. */
  #take(): Waiting | undefined {
    const most = Math.max(1, this.#options.threads - 1);
    const busy = [...this.#threads].map(({ waiting }) => waiting?.tenant);
    return this.#waiting.take((tenant) => busy.filter((each) => each === tenant).length < most);
  }

  #run(thread: Thread, next: Waiting): void {
    const { withinMs } = this.#options;
    clearTimeout(thread.timer);
    thread.waiting = next;
    thread.bytes = next.task.body.byteLength;
    thread.timer = setTimeout(() => {
      this.#options.onError(new Error(`A body was not read within ${withinMs} ms`));
      void this.#end(thread, unreadable());
    }, withinMs);
    thread.worker.postMessage(next.task, [next.task.body.buffer]);
  }

  #start(): Thread {
    const { module, bodyBytes } = this.#options;
    const worker = startThread(module, {
      name: 'bodies',
      // A body is a text and a value at a time, each with two bytes a character at most. Tight, so that what is left over
      // is collected before it adds up.
      resourceLimits: {
        maxOldGenerationSizeMb: ownHeapMib + Math.ceil((3 * bodyBytes) / MIB),
        maxYoungGenerationSizeMb: 8,
      },
    });
    const thread: Thread = { worker, bytes: 0, waiting: undefined, timer: undefined };
    this.#threads.add(thread);
    worker.on('message', (result: BodyResult) => void this.#settle(thread, result));
    worker.on('error', (error) => {
      this.#options.onError(error);
      void this.#end(thread, isOutOfMemory(error) ? tooLarge() : unreadable());
    });
    worker.on('exit', () => void this.#end(thread, unreadable()));
    return thread;
  }

  async #settle(thread: Thread, result: BodyResult): Promise<void> {
    const { waiting } = thread;
    clearTimeout(thread.timer);
    thread.waiting = undefined;
    if (thread.bytes > lastingBytes) {
      await this.#end(thread, unreadable());
    } else {
      thread.timer = setTimeout(() => void this.#end(thread, unreadable()), this.#options.idleMs);
      this.#assign();
    }
    switch (result.kind) {
      case 'prepared':
        waiting?.settled.resolve(result.prepared);
        break;
      case 'refused':
        waiting?.settled.reject(new ServiceError(result.code, result.message, { param: result.param }));
        break;
      case 'failed':
        waiting?.settled.reject(result.error);
    }
  }

  async #end(thread: Thread, error: ServiceError): Promise<void> {
    if (!this.#threads.delete(thread)) return;
    clearTimeout(thread.timer);
    thread.waiting?.settled.reject(error);
    await thread.worker.terminate();
    this.#assign();
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

function tooLarge(): ServiceError {
  return new ServiceError('request_too_large', 'The request body takes too much memory to read.');
}

function unreadable(): ServiceError {
  return new ServiceError('server_is_overloaded', 'The server could not read the request body in time.');
}
