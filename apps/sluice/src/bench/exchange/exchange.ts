import { StringDecoder } from 'node:string_decoder';
import type { IncomingHttpHeaders } from 'node:http';
import { createParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';

/** One server-sent event. */
export interface ServerEvent {
  /** Its `event` line. Some servers send none. */
  event?: string | undefined;
  data: string;
}

export interface Call {
  path: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  /** Aborts the call and closes its connection. */
  signal: AbortSignal;
  /** Is given the events of an event stream as they arrive. Returns whether more events are wanted. */
  onEvent?: (event: ServerEvent) => boolean;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body, unless it was an event stream that went to `onEvent`. */
  text: string;
  isEventStream: boolean;
}

/** A connection that was not made, or broke. */
export class TransportError extends Error {
  /** Whether a status of 2xx had arrived. */
  readonly wasAnswering: boolean;
  override readonly cause: Error;

  constructor(cause: Error, wasAnswering: boolean) {
    super(cause.message);
    this.name = 'TransportError';
    this.cause = cause;
    this.wasAnswering = wasAnswering;
  }
}

/** The most text of an answer, and of one event, that is kept at a time, in characters. */
const mostText = 64 * 1024 * 1024;
/** How long a stream whose last event was seen may take to end, so that its connection can be used again. */
const lingerMs = 1000;

/**
 * Sends a request and resolves when its answer has ended.
 *
 * Rejects with the reason of the signal once it is aborted, and with a {@link TransportError} for anything that kept the
 * answer from its end. A stream that nobody wants more events of has ended well, however its connection ends.
 */
export function exchange(connection: Dispatcher, call: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const reader = new AnswerReader(call, { resolve, reject });
    if (call.signal.aborted) return reader.abort();
    const { path, method, headers, body } = call;
    try {
      connection.dispatch({ path, method, headers, body: body ?? null }, reader);
    } catch (error) {
      reader.onResponseError(undefined, error instanceof Error ? error : new Error(String(error)));
    }
  });
}

interface Settlement {
  resolve: (answer: Answer) => void;
  reject: (reason: unknown) => void;
}

class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #call: Call;
  readonly #settlement: Settlement;
  readonly #decoder = new StringDecoder('utf8');
  readonly #parser = createParser({ onEvent: (event) => this.#take(event) });
  readonly #onAbort = () => this.abort();
  readonly #answer: Answer = { status: 0, headers: {}, text: '', isEventStream: false };
  readonly #parts: string[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #kept = 0;
  #hasAll = false;
  #isSettled = false;
  #linger: NodeJS.Timeout | undefined;

  constructor(call: Call, settlement: Settlement) {
    this.#call = call;
    this.#settlement = settlement;
    call.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  abort(): void {
    if (this.#hasAll) this.#succeed();
    else this.#fail(this.#call.signal.reason);
    this.#close();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isSettled) this.#close();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    const type = headers['content-type'] ?? '';
    const isEventStream =
      this.#call.onEvent !== undefined && status < 300 && /^text\/event-stream\s*(?:;|$)/i.test(type);
    Object.assign(this.#answer, { status, headers, isEventStream });
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#isSettled || this.#hasAll) return;
    this.#kept += bytes.length;
    const text = this.#decoder.write(bytes);
    if (this.#answer.isEventStream) this.#parser.feed(text);
    else this.#parts.push(text);
    if (this.#kept <= mostText) return;
    this.#fail(new TransportError(new Error(`more than ${mostText} characters`), true));
    this.#close();
  }

  onResponseEnd(): void {
    this.#succeed();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    const { status } = this.#answer;
    if (this.#hasAll) this.#succeed();
    else this.#fail(new TransportError(error, status >= 200 && status < 300));
  }

  #take(event: ServerEvent): void {
    if (this.#hasAll) return;
    this.#kept = 0;
    if (this.#call.onEvent?.(event) !== false) return;
    this.#hasAll = true;
    this.#linger = setTimeout(() => this.abort(), lingerMs);
  }

  #succeed(): void {
    if (this.#isSettled) return;
    this.#settle();
    this.#settlement.resolve({ ...this.#answer, text: this.#parts.join('') });
  }

  #fail(reason: unknown): void {
    if (this.#isSettled) return;
    this.#settle();
    this.#settlement.reject(reason);
  }

  #settle(): void {
    this.#isSettled = true;
    clearTimeout(this.#linger);
    this.#call.signal.removeEventListener('abort', this.#onAbort);
  }

  /** Closes the connection. One that is still being made is closed once it stands. */
  #close(): void {
    this.#controller?.abort(new Error('The call is over.'));
  }
}
