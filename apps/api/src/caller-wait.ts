import type { FastifyReply } from 'fastify';

/** Why a caller's wait was cut short. */
export type WaitEnding = 'caller_left' | 'timed_out' | 'interrupted';

/**
 * How long a caller waits for its answer: until it has it, closes its connection, has waited as long as it may, or
 * this process stops.
 *
 * One controller for all of them: composing signals with `AbortSignal.any` and `AbortSignal.timeout` for each
 * request showed as 2 % of an api's time.
 */
export class CallerWait {
  readonly #controller = new AbortController();
  readonly #interrupted: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  #ending: WaitEnding | undefined;
  readonly #onInterrupted = () => this.#end('interrupted');

  constructor(
    reply: FastifyReply,
    { interrupted, withinMs }: { interrupted: AbortSignal; withinMs: number },
  ) {
    const { raw } = reply;
    this.#interrupted = interrupted;
    this.#timer = setTimeout(() => this.#end('timed_out'), withinMs);
    raw.once('close', () => {
      if (!raw.writableFinished) this.#end('caller_left');
    });
    interrupted.addEventListener('abort', this.#onInterrupted, { once: true });
    if (raw.destroyed) this.#end('caller_left');
    if (interrupted.aborted) this.#end('interrupted');
  }

  /** Aborted when the wait is cut short. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why it was cut short; undefined while it was not. */
  get ending(): WaitEnding | undefined {
    return this.#ending;
  }

  /** The caller has its answer, or an error. Nothing cuts the wait short any more. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#interrupted.removeEventListener('abort', this.#onInterrupted);
  }

  #end(ending: WaitEnding): void {
    if (this.#ending) return;
    this.#ending = ending;
    this.stop();
    this.#controller.abort(new Error(`The wait ended: ${ending}`));
  }
}
