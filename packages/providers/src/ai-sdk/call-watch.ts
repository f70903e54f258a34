import type { ProviderError } from '../provider.ts';
import { maxAnswerBytes, maxEventBytes } from '../upstream/answer-size.ts';
import type { Timeouts } from '../upstream/silence-timer.ts';
import {
  brokenStream,
  failedStatus,
  type Headers,
  tooLarge,
  type UpstreamRequest,
  upstreamRequest,
} from '../upstream/failure.ts';

/** Bytes that may have arrived since the last part: one event, and what a package and its buffers hold of the next ones. */
const maxPendingBytes = 2 * maxEventBytes;
const maxErrorBytes = 64 * 1024;
/** How long to wait for the body of an error answer. Without it, the status alone decides. */
const refusalMs = 2000;
/** How long to wait for the end of the stream after a finish. */
const closingMs = 1000;

/**
 * `starting`: the package has not asked for a connection, and may use one of its own. The others are those of
 * `EventStream`.
 */
type Phase = 'starting' | 'connecting' | 'sent' | 'answering' | 'closing' | 'over';

/**
 * Watches one call of a package: its cancellation, time-outs and sizes, whatever the package does about them.
 *
 * The first failure ends the call: `race` rejects with it at once, and `signal` aborts, which closes the connections that
 * were opened for the call in the same turn of the event loop.
 */
export class CallWatch {
  readonly #providerId: string;
  readonly #timeouts: Timeouts;
  readonly #outer: AbortSignal;
  readonly #abort = new AbortController();
  readonly #onAbort = () => this.#end(this.#outer.reason);
  /** When the first token is due at the latest, however often the package connects. */
  readonly #firstTokenAt: number;
  #phase: Phase = 'starting';
  #hasEnded = false;
  #failure: ProviderError | undefined;
  #refused: { status: number; headers: Headers; body: string } | undefined;
  #request: UpstreamRequest = {};
  #timer: NodeJS.Timeout | undefined;
  #lastPartAt = 0;
  /** Rejects the promise that the caller waits for. */
  #reject: ((error: unknown) => void) | undefined;
  #received = 0;
  #pending = 0;
  #untold = 0;

  constructor(options: { providerId: string; timeouts: Timeouts; signal: AbortSignal }) {
    this.#providerId = options.providerId;
    this.#timeouts = options.timeouts;
    this.#outer = options.signal;
    const { connectMs, firstTokenMs } = options.timeouts;
    this.#firstTokenAt = performance.now() + connectMs + firstTokenMs;
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
    this.#arm(connectMs + firstTokenMs);
  }

  /** For the package: aborts when the call ends, for whatever reason. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The failure that ended the call, unless its own signal did. */
  get failure(): ProviderError | undefined {
    return this.#failure;
  }

  get isClosing(): boolean {
    return this.#phase === 'closing';
  }

  /** The state of the call's connection, for the mapping of its failure. */
  get progress(): { isConnecting: boolean; isSent: boolean; isStreaming: boolean; request: UpstreamRequest } {
    return {
      isConnecting: this.#phase === 'connecting',
      isSent: this.#phase === 'sent' || this.#phase === 'answering',
      isStreaming: this.#phase === 'answering',
      request: this.#request,
    };
  }

  /**
   * Settles as the promise does, or rejects with the failure of the call if that comes first. One at a time. (A race with
   * one long promise would keep a reaction for each part until the call ends.)
   */
  async race<T>(promise: PromiseLike<T>): Promise<T> {
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#reject = reject;
        promise.then(resolve, reject);
        if (this.#hasEnded) reject(this.#abort.signal.reason);
      });
    } finally {
      this.#reject = undefined;
    }
  }

  connecting(): void {
    if (this.#phase !== 'starting' && this.#phase !== 'sent') return;
    this.#phase = 'connecting';
    this.#refused = undefined;
    this.#arm(this.#timeouts.connectMs);
  }

  sent(): void {
    if (this.#phase !== 'connecting') return;
    this.#phase = 'sent';
    this.#arm(this.#timeouts.firstTokenMs);
  }

  responded(status: number, headers: Headers): void {
    this.#request = { upstreamStatus: status, ...upstreamRequest(headers) };
    const encoding = headers['content-encoding'] ?? 'identity';
    if (status >= 400) {
      this.#refused = { status, headers, body: '' };
      this.#arm(refusalMs);
    } else if (String(encoding).toLowerCase() !== 'identity') {
      this.#fail('answered with an encoding that was not asked for');
    }
  }

  received(bytes: Buffer): void {
    if (this.#refused) {
      this.#refused.body += bytes.toString('latin1');
      if (this.#refused.body.length > maxErrorBytes) this.#endRefused();
      return;
    }
    this.#received += bytes.length;
    this.#pending += bytes.length;
    this.#untold += bytes.length;
    if (this.#received > maxAnswerBytes) this.#endTooLarge(`an answer of more than ${maxAnswerBytes} bytes`);
    else if (this.#pending > maxPendingBytes)
      this.#endTooLarge(`an event of more than ${maxEventBytes} bytes`);
  }

  /** Bytes that have arrived since it was last asked. */
  takeReceived(): number {
    const bytes = this.#untold;
    this.#untold = 0;
    return bytes;
  }

  /** Notes that a part was taken: whether it is an event and no mere sign of life, and whether it is a part of the answer. */
  took({ isEvent, hasOutput }: { isEvent: boolean; hasOutput: boolean }): void {
    this.#pending = 0;
    if (isEvent) this.#lastPartAt = performance.now();
    if (!hasOutput || this.#phase === 'answering' || this.#phase === 'over') return;
    this.#phase = 'answering';
    this.#arm(this.#timeouts.idleMs);
  }

  /** Notes that the consumer is back: its time for earlier parts is no silence. */
  resumed(): void {
    this.#lastPartAt = performance.now();
  }

  /** Notes that the model has finished: the stream is to end soon, and failures are ignored. */
  closing(): void {
    if (this.#phase === 'closing' || this.#phase === 'over') return;
    this.#phase = 'closing';
    this.#arm(Math.min(closingMs, this.#timeouts.idleMs));
  }

  /** Ends the watch. The connections of the call are closed at once, unless its stream has ended. */
  release({ isComplete }: { isComplete: boolean }): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.#onAbort);
    this.#phase = 'over';
    if (!this.#hasEnded && !isComplete) this.#abort.abort(new Error('The call is over.'));
  }

  #arm(limitMs: number): void {
    const isBeforeOutput = this.#phase !== 'answering' && this.#phase !== 'closing';
    this.#lastPartAt = performance.now();
    clearTimeout(this.#timer);
    const restMs = isBeforeOutput ? Math.max(0, this.#firstTokenAt - performance.now()) : limitMs;
    this.#timer = setTimeout(() => this.#onTimer(limitMs), Math.min(limitMs, restMs));
  }

  /** One timer serves a whole phase and measures the silence when it fires. */
  #onTimer(limitMs: number): void {
    const counted = !this.#refused && (this.#phase === 'answering' || this.#phase === 'closing');
    const isWaiting = this.#reject !== undefined;
    const silentMs = counted ? performance.now() - this.#lastPartAt : limitMs;
    // Time that the consumer spends on earlier parts does not count as silence of the upstream.
    if (!counted || (isWaiting && silentMs >= limitMs - 1)) {
      this.#onSilence();
    } else {
      const restMs = isWaiting ? limitMs - silentMs : limitMs;
      this.#timer = setTimeout(() => this.#onTimer(limitMs), Math.max(1, restMs));
    }
  }

  #onSilence(): void {
    if (this.#refused) return this.#endRefused();
    switch (this.#phase) {
      case 'connecting':
        return this.#fail('took too long to connect');
      case 'starting':
      case 'sent':
        return this.#fail('took too long to send a first token');
      case 'answering':
        return this.#fail('fell silent in the middle of an answer');
      case 'closing':
        return this.#fail('did not end its stream');
      case 'over':
        return;
    }
  }

  #endRefused(): void {
    if (!this.#refused) return;
    const { status, headers, body } = this.#refused;
    this.#endWith(failedStatus(this.#providerId, status, headers, body));
  }

  #fail(what: string): void {
    // Nothing of the request was sent before the connection stood.
    const fault = this.#phase === 'connecting' ? 'unreachable' : 'broken';
    this.#endWith(brokenStream(this.#providerId, what, { ...this.#request, fault }));
  }

  #endTooLarge(what: string): void {
    this.#endWith(tooLarge(this.#providerId, what, this.#request));
  }

  #endWith(failure: ProviderError): void {
    if (this.#hasEnded || this.#phase === 'over') return;
    this.#failure = failure;
    this.#end(failure);
  }

  /** Ends the call for the first reason to do so. */
  #end(reason: unknown): void {
    if (this.#hasEnded || this.#phase === 'over') return;
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    this.#reject?.(reason);
    this.#abort.abort(reason);
  }
}
