import type { Lease, ProcessLeaseOptions } from '@sluice/response-store';
import { startThread } from '@sluice/runtime';
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import type { LeaseOrder, LeaseReport, LeaseThreadData } from './hold-lease.ts';

export interface LeaseThreadOptions extends Pick<ProcessLeaseOptions, 'ttlMs'> {
  redisUrl: string;
  keys: readonly string[];
  onError: (error: unknown) => void;
  /**
   * How long the event loop may be stuck before the lease is no longer renewed, in milliseconds; a minute by default. A
   * process that never comes back must not keep the work of its callers.
   */
  silentMs?: number;
}

/** How often the event loop shows that it runs, in milliseconds. */
const aliveEveryMs = 500;

/** How long giving up the lease may take, in milliseconds; past it the lease lapses. */
const stopWithinMs = 3_000;

/**
 * The lease of an api process, renewed in a thread of its own with a connection of its own, where no request can hold it
 * up: a process that is busy is not dead, and its callers still wait. A thread that ends before its time is replaced.
 */
export class LeaseThread implements Lease {
  readonly #options: LeaseThreadOptions;
  #thread: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LeaseThreadOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    const held = Promise.withResolvers<void>();
    this.#timer = setInterval(() => {
      this.#thread ??= this.#startThread(() => undefined);
      this.#tell(this.#thread, 'alive');
    }, aliveEveryMs);
    this.#thread = this.#startThread(held.resolve);
    return held.promise;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const thread = this.#thread;
    if (!thread) return;
    const ended = once(thread, 'exit');
    this.#tell(thread, 'stop');
    const timer = setTimeout(() => void thread.terminate(), stopWithinMs);
    await ended;
    clearTimeout(timer);
  }

  /** Calls `onSettled` when the lease is held, or could not be taken. */
  #startThread(onSettled: () => void): Worker {
    const { redisUrl, keys, onError, silentMs = 60_000, ttlMs } = this.#options;
    const workerData: LeaseThreadData = { redisUrl, keys, silentMs, ...(ttlMs !== undefined && { ttlMs }) };
    const thread = startThread(new URL('./hold-lease.ts', import.meta.url), {
      name: 'lease',
      workerData,
      // It sends a command a second, so it needs little room for what it has done with.
      resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 64 },
    });
    thread.on('message', (report: LeaseReport) => {
      if (report.kind === 'failed') onError(report.error);
      else onSettled();
    });
    thread.on('error', onError);
    thread.on('exit', () => {
      this.#thread = undefined;
      onSettled();
    });
    return thread;
  }

  #tell(thread: Worker, order: LeaseOrder): void {
    thread.postMessage(order);
  }
}
