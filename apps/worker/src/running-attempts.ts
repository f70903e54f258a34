import { type AbortReason, AttemptAborted } from './abort-reasons.ts';
import type { ResponseLog } from './response-log.ts';

/** How often the record of each running response is looked at, in milliseconds. */
const checkMs = 1_000;

/** Responses looked at in one script. */
const checkBatch = 100;

interface Running {
  token: string;
  controller: AbortController;
}

export interface RunningAttemptsOptions {
  log: Pick<ResponseLog, 'checkLeases'>;
  /** Without a successful look for this long, a lease must be taken for lost, in milliseconds. */
  selfFenceMs: number;
  now: () => number;
  onError: (error: unknown) => void;
}

/**
 * The attempts this process runs, and everything that can end one from outside.
 *
 * A cancellation arrives by the doorbell at once, or by the look at the record within a second when the doorbell
 * was lost. When the store has not answered for nearly the length of a lock, somebody else may have taken over,
 * and every attempt ends itself.
 */
export class RunningAttempts {
  readonly #running = new Map<string, Running>();
  readonly #options: RunningAttemptsOptions;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;
  #checkedAt: number;
  #isInterrupted = false;

  constructor(options: RunningAttemptsOptions) {
    this.#options = options;
    this.#checkedAt = options.now();
  }

  start(): void {
    this.#checkedAt = this.#options.now();
    this.#timer = setInterval(() => {
      this.#fenceOff();
      this.#checking ??= this.#check().finally(() => {
        this.#checking = undefined;
      });
    }, checkMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#checking;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Registers an attempt; the returned function takes it out again. */
  add(responseId: string, token: string, controller: AbortController): () => void {
    const running = { token, controller };
    this.#running.set(responseId, running);
    if (this.#isInterrupted) this.abort(responseId, 'interrupted');
    return () => {
      if (this.#running.get(responseId) === running) this.#running.delete(responseId);
    };
  }

  abort(responseId: string, reason: AbortReason): void {
    this.#running.get(responseId)?.controller.abort(new AttemptAborted(reason));
  }

  abortAll(reason: AbortReason): void {
    for (const responseId of this.#running.keys()) this.abort(responseId, reason);
  }

  /** Ends all attempts because the process stops, also those that were claimed before and register after it. */
  interruptAll(): void {
    this.#isInterrupted = true;
    this.abortAll('interrupted');
  }

  async #check(): Promise<void> {
    const { log, now, onError } = this.#options;
    const askedAt = now();
    const held = [...this.#running].map(([responseId, { token }]) => ({ responseId, token }));
    try {
      for (let at = 0; at < held.length; at += checkBatch) {
        const batch = held.slice(at, at + checkBatch);
        const states = await log.checkLeases(batch);
        batch.forEach(({ responseId, token }, index) => {
          const state = states[index];
          if (this.#running.get(responseId)?.token !== token) return;
          if (state === 'cancelled' || state === 'superseded') this.abort(responseId, state);
        });
      }
      this.#checkedAt = askedAt;
    } catch (error) {
      onError(error);
    }
  }

  /** Apart from the look itself, which can hang for seconds before it fails. */
  #fenceOff(): void {
    const { now, selfFenceMs } = this.#options;
    if (now() - this.#checkedAt > selfFenceMs) this.abortAll('superseded');
  }
}
