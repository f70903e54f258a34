import { ThreadPool, type ThreadPoolOptions } from '@sluice/admission';
import { startThread } from '@sluice/runtime';
import type { JsonCheck, JsonVerdict } from './check-json.ts';

/** A task may take 2 s by default. */
export type JsonChecksOptions = Pick<ThreadPoolOptions, 'onError'> &
  Partial<Pick<ThreadPoolOptions, 'threads' | 'withinMs' | 'idleMs'>>;

/** How long a thread may take to load its modules, in milliseconds. */
const startWithinMs = 10_000;

/** Heap of a thread, in mebibytes: room for an answer of 16 MiB, the most by default, and for its parsed value. */
const heapMib = 256;

/**
 * Checks answers against strict schemas in threads. A client chooses the schema and, through the prompt, the value, so
 * either may be made as costly as possible.
 */
export class JsonChecks {
  readonly #pool: ThreadPool<readonly JsonCheck[], readonly JsonVerdict[]>;

  constructor(options: JsonChecksOptions) {
    const module = new URL('./check-thread.ts', import.meta.url);
    this.#pool = new ThreadPool({
      withinMs: 2_000,
      ...options,
      startWithinMs,
      heapMib: () => heapMib,
      start: (resourceLimits) => startThread(module, { name: 'json-checks', resourceLimits }),
    });
  }

  /**
   * Checks one answer of a tenant. Returns a verdict for each check; all are `unknown` when they could not be made, or when the
   * signal is aborted first.
   */
  async check(
    tenant: string,
    checks: readonly JsonCheck[],
    signal: AbortSignal,
  ): Promise<readonly JsonVerdict[]> {
    if (checks.length === 0) return [];
    const end = await this.#pool.run(tenant, checks, { signal });
    return end.kind === 'done' ? end.result : checks.map(() => 'unknown');
  }

  /** Ends every thread. Checks in flight stay `unknown`. */
  stop(): Promise<void> {
    return this.#pool.stop();
  }
}
