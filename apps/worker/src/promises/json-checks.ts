import { TenantQueues } from '@sluice/admission';
import { startThread } from '@sluice/runtime';
import type { Worker } from 'node:worker_threads';
import type { JsonCheck, JsonVerdict } from './check-json.ts';
import type { CheckThreadMessage } from './check-thread.ts';

export interface JsonChecksOptions {
  /** Most threads at a time; a tenant has all but one of them. Two by default. */
  threads?: number;
  /** How long a thread may take for the checks of one answer, in milliseconds; 2 s by default. */
  withinMs?: number;
  /** How long a thread stays with nothing to do, in milliseconds; a minute by default. */
  idleMs?: number;
  onError: (error: unknown) => void;
}

interface Waiting {
  tenant: string;
  checks: readonly JsonCheck[];
  signal: AbortSignal;
  settle: (verdicts: readonly JsonVerdict[]) => void;
}

interface Thread {
  worker: Worker;
  isReady: boolean;
  waiting: Waiting | undefined;
  /** Ends it: when it takes too long, or has had nothing to do for long. */
  timer: NodeJS.Timeout | undefined;
}

/** How long a thread may take to load its modules, in milliseconds. */
const startWithinMs = 10_000;

/** Heap of a thread, in mebibytes: room for an answer of 16 MiB, the most by default, and for its parsed value. */
const heapMib = 256;

/**
 * Checks answers against strict schemas in threads, which are started when there is something to check. A client chooses the
 * schema and, through the prompt, the value, so either may be made as costly as possible.
 *
 * Tenants take turns, and none has every thread. A thread that takes too long, runs out of its heap or crashes is ended. Its
 * checks stay `unknown`, and another thread takes its place.
 */
export class JsonChecks {
  readonly #options: Required<JsonChecksOptions>;
  readonly #threads = new Set<Thread>();
  readonly #waiting = new TenantQueues<Waiting>();
  #isStopped = false;

  constructor(options: JsonChecksOptions) {
    this.#options = { threads: 2, withinMs: 2_000, idleMs: 60_000, ...options };
  }

  /**
   * Checks one answer of a tenant. Returns a verdict for each check; all are `unknown` when they could not be made, or when the
   * signal is aborted first.
   */
  check(tenant: string, checks: readonly JsonCheck[], signal: AbortSignal): Promise<readonly JsonVerdict[]> {
    const unknown = checks.map(() => 'unknown' as const);
    if (checks.length === 0 || this.#isStopped || signal.aborted) return Promise.resolve(unknown);
    return new Promise((resolve) => {
      const onAbort = () => resolve(unknown);
      const settle = (verdicts: readonly JsonVerdict[]) => {
        signal.removeEventListener('abort', onAbort);
        resolve(verdicts);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(tenant, { tenant, checks, signal, settle });
      this.#assign();
    });
  }

  /** Ends every thread. Checks in flight stay `unknown`. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#threads].map((thread) => this.#end(thread)));
    for (let next = this.#take(); next; next = this.#take()) giveUp(next);
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

  /** The next answer of a tenant that does not have all the threads it may have. */
  #take(): Waiting | undefined {
    const most = Math.max(1, this.#options.threads - 1);
    const busy = [...this.#threads].map(({ waiting }) => waiting?.tenant);
    for (;;) {
      const next = this.#waiting.take((tenant) => busy.filter((each) => each === tenant).length < most);
      if (!next?.signal.aborted) return next;
    }
  }

  #run(thread: Thread, next: Waiting): void {
    thread.waiting = next;
    thread.worker.postMessage(next.checks);
    this.#endAfter(thread, thread.isReady ? this.#options.withinMs : startWithinMs);
  }

  #start(): Thread {
    const worker = startThread(new URL('./check-thread.ts', import.meta.url), {
      name: 'json-checks',
      resourceLimits: { maxOldGenerationSizeMb: heapMib, maxYoungGenerationSizeMb: 8 },
    });
    const thread: Thread = { worker, isReady: false, waiting: undefined, timer: undefined };
    this.#threads.add(thread);
    worker.on('message', (message: CheckThreadMessage) => this.#hear(thread, message));
    worker.on('error', (error) => {
      this.#options.onError(error);
      void this.#end(thread);
    });
    worker.on('exit', () => void this.#end(thread));
    return thread;
  }

  #hear(thread: Thread, message: CheckThreadMessage): void {
    if (message.kind === 'ready') {
      thread.isReady = true;
      // It has what it is to check already, and begins now.
      this.#endAfter(thread, this.#options.withinMs);
      return;
    }
    const { waiting } = thread;
    thread.waiting = undefined;
    this.#endAfter(thread, this.#options.idleMs);
    waiting?.settle(message.verdicts);
    this.#assign();
  }

  #endAfter(thread: Thread, ms: number): void {
    clearTimeout(thread.timer);
    thread.timer = setTimeout(() => void this.#end(thread), ms);
  }

  async #end(thread: Thread): Promise<void> {
    if (!this.#threads.delete(thread)) return;
    clearTimeout(thread.timer);
    if (thread.waiting) giveUp(thread.waiting);
    await thread.worker.terminate();
    this.#assign();
  }
}

function giveUp({ checks, settle }: Waiting): void {
  settle(checks.map(() => 'unknown'));
}
