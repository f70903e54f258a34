import { randomUUID } from 'node:crypto';
import type { Dispatcher, Pool } from 'undici';
import type { Target } from './order.ts';

/** One request and its answer. Times are in milliseconds. */
export interface Exchange {
  /** What is wrong with the answer. Undefined for a good one. */
  failure: string | undefined;
  /** The status of the answer; 0 without one. */
  status: number;
  marks: number;
  elapsedMs: number;
  firstMarkMs: number;
  /** From each mark to the next. */
  gapsMs: readonly number[];
  /** The id of the response, where the target asks for it. */
  id: string | undefined;
}

/**
 * Sends a request and checks its answer as it arrives. It looks for marks in the bytes, because parsing would make the
 * load generator the bottleneck. Never rejects.
 */
export function exchange(pool: Pool, target: Target): Promise<Exchange> {
  return new Promise((resolve) => {
    const { path, freshHeader, body } = target;
    const headers =
      freshHeader === undefined ? target.headers : { ...target.headers, [freshHeader]: randomUUID() };
    pool.dispatch({ method: 'POST', path, headers, body }, new AnswerReader(target, resolve));
  });
}

/** How much of an answer with a wrong status is told, in characters. */
const toldOfFailure = 300;

class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #target: Target;
  readonly #resolve: (exchange: Exchange) => void;
  readonly #sentAt = performance.now();
  #status = 0;
  #id: string | undefined;
  #marks = 0;
  #firstMarkAt = Number.NaN;
  #lastMarkAt = Number.NaN;
  readonly #gapsMs: number[] = [];
  /** The last characters so far, which may be the first part of a mark. */
  #tail = '';
  /** The beginning of an answer with a wrong status. */
  #refusal = '';

  constructor(target: Target, resolve: (exchange: Exchange) => void) {
    this.#target = target;
    this.#resolve = resolve;
  }

  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    const { mark, ending, tellsId = false } = this.#target;
    if (this.#status !== (this.#target.status ?? 200))
      this.#refusal += bytes.toString('latin1', 0, toldOfFailure);
    const text = this.#tail + bytes.toString('latin1');
    if (tellsId) this.#id ??= /"id":"((?:create-response|resp)_\w+)"/.exec(text)?.[1];
    const now = performance.now();
    let rest = 0;
    for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, rest)) {
      if (this.#marks === 0) this.#firstMarkAt = now;
      else this.#gapsMs.push(now - this.#lastMarkAt);
      this.#lastMarkAt = now;
      this.#marks += 1;
      rest = at + mark.length;
    }
    // A mark that was counted must not be found again.
    const kept = Math.max(mark.length - 1, ending.length);
    this.#tail = text.slice(Math.max(rest, text.length - kept));
  }

  onResponseEnd(): void {
    this.#settle(this.#fault());
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#settle(error.message);
  }

  #fault(): string | undefined {
    const { marks, ending, status = 200 } = this.#target;
    if (this.#status !== status) return `status ${this.#status}: ${this.#refusal.slice(0, toldOfFailure)}`;
    if (this.#marks !== marks) return `${this.#marks} tokens instead of ${marks}`;
    return this.#tail.endsWith(ending) ? undefined : 'the answer was cut short';
  }

  #settle(failure: string | undefined): void {
    this.#resolve({
      failure,
      status: this.#status,
      marks: this.#marks,
      elapsedMs: performance.now() - this.#sentAt,
      firstMarkMs: this.#firstMarkAt - this.#sentAt,
      gapsMs: this.#gapsMs,
      id: this.#id,
    });
  }
}
