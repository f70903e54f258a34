import type { Dispatcher } from 'undici';
import {
  brokenStream,
  failedStatus,
  type Headers,
  tooLarge,
  type UpstreamRequest,
  unsendable,
  upstreamRequest,
} from './failure.ts';
import type { Timeouts } from './silence-timer.ts';

/** Limit of one answer. */
const maxBytes = 32 * 1024 * 1024;

const maxErrorBytes = 64 * 1024;

export interface JsonAnswerOptions {
  providerId: string;
  timeouts: Timeouts;
  signal: AbortSignal;
}

/**
 * The value of one HTTP answer that is JSON.
 *
 * It fails by the signal, a time-out, the limit of size, a status other than 200, a body that is no JSON, or an error of the transport. An
 * abort closes the socket in the same turn of the event loop.
 */
export class JsonAnswer implements Dispatcher.DispatchHandler {
  readonly #options: JsonAnswerOptions;
  readonly #value = Promise.withResolvers<unknown>();
  readonly #onAbort = () => this.#fail(this.#options.signal.reason);
  #controller: Dispatcher.DispatchController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #status = 0;
  #headers: Headers = {};
  #request: UpstreamRequest = {};
  #pieces: Buffer[] = [];
  #bytes = 0;
  #isOver = false;

  constructor(options: JsonAnswerOptions) {
    this.#options = options;
    // It is awaited by its caller, and by who waits for all calls to be over.
    this.#value.promise.catch(() => undefined);
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
    this.#arm(options.timeouts.connectMs, 'took too long to connect');
  }

  /** Rejects with a `ProviderError`, or with the reason of the signal. */
  get value(): Promise<unknown> {
    return this.#value.promise;
  }

  /** Resolves when nothing follows. Never rejects. */
  get over(): Promise<void> {
    return this.#value.promise.then(
      () => undefined,
      () => undefined,
    );
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error('The call ended while the connection was being made.'));
    else this.#arm(this.#options.timeouts.firstTokenMs, 'took too long to answer');
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    this.#request = { upstreamStatus: status, ...upstreamRequest(headers) };
    this.#arm(this.#options.timeouts.idleMs, 'fell silent in the middle of an answer');
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#isOver) return;
    this.#bytes += bytes.length;
    if (this.#status !== 200 && this.#bytes > maxErrorBytes) this.#refuse();
    else if (this.#bytes > maxBytes) {
      this.#fail(
        tooLarge(this.#options.providerId, `an answer of more than ${maxBytes} bytes`, this.#request),
      );
    } else {
      this.#pieces.push(bytes);
      this.#arm(this.#options.timeouts.idleMs, 'fell silent in the middle of an answer');
    }
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    if (this.#status !== 200) return this.#refuse();
    try {
      const value: unknown = JSON.parse(Buffer.concat(this.#pieces).toString('utf8'));
      this.#end(() => this.#value.resolve(value));
    } catch {
      this.#fail(this.#broken('answered with something that is no JSON'));
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, cause: Error): void {
    const { providerId } = this.#options;
    if ('code' in cause && cause.code === 'UND_ERR_INVALID_ARG') this.#fail(unsendable(providerId, cause));
    else if (this.#status !== 0 && this.#status !== 200) this.#refuse();
    else this.#fail(this.#broken(this.#controller ? 'broke the connection' : 'could not be reached', cause));
  }

  #refuse(): void {
    const body = Buffer.concat(this.#pieces).toString('utf8');
    this.#fail(failedStatus(this.#options.providerId, this.#status, this.#headers, body));
  }

  #broken(what: string, cause?: Error) {
    // Nothing of the request was sent before the connection stood.
    const fault = this.#controller ? 'broken' : 'unreachable';
    return brokenStream(this.#options.providerId, what, { ...this.#request, fault, cause });
  }

  #arm(limitMs: number, what: string): void {
    clearTimeout(this.#timer);
    if (!this.#isOver) this.#timer = setTimeout(() => this.#fail(this.#broken(what)), limitMs);
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#end(() => this.#value.reject(error));
    this.#controller?.abort(error instanceof Error ? error : new Error('The call was aborted.'));
  }

  #end(settle: () => void): void {
    this.#isOver = true;
    this.#pieces = [];
    clearTimeout(this.#timer);
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    settle();
  }
}
