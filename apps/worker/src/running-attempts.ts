import { type AbortReason, AttemptAborted } from './abort-reasons.ts';
import type { ResponseLog } from './response-log.ts';

/** How often the record of each running response is looked at, in milliseconds. */
const checkMs = 1_000;

interface Running {
  token: string;
  controller: AbortController;
}

export interface RunningAttemptsOptions {
  log: Pick<ResponseLog, 'checkLeases'>;
  onError: (error: unknown) => void;
}

/**
 * The attempts this process runs, and everything that can end one from outside.
 *
 * A cancellation arrives by a message at once, or by the look at the record within a second when the message was lost.
 * The look finds as well that another attempt has taken over. The job's lock, which may be lost while the store does not
 * answer, is watched by the queue.
 */
export class RunningAttempts {
  readonly #running = new Map<string, Running>();
  readonly #options: RunningAttemptsOptions;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;
  #isInterrupted = false;

  constructor(options: RunningAttemptsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
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

  /** Ends all attempts because the process stops, also those that were claimed before and register after it. */
  interruptAll(): void {
    this.#isInterrupted = true;
    for (const responseId of this.#running.keys()) this.abort(responseId, 'interrupted');
  }

  async #check(): Promise<void> {
    const { log, onError } = this.#options;
    const held = [...this.#running].map(([responseId, { token }]) => ({ responseId, token }));
    try {
      if (held.length === 0) return;
      const states = await log.checkLeases(held);
      held.forEach(({ responseId, token }, index) => {
        const state = states[index];
        if (this.#running.get(responseId)?.token !== token) return;
        if (state === 'cancelled' || state === 'superseded') this.abort(responseId, state);
      });
    } catch (error) {
      onError(error);
    }
  }
}
