import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';
import { textOf } from '../json-fields.ts';
import type { ReadPace } from '../provider.ts';
import { AnswerSize, type AnswerSizeOptions } from './answer-size.ts';
import { SilenceTimer, type Timeouts } from './silence-timer.ts';
import {
  brokenStream,
  failedStatus,
  tooLarge,
  type Headers,
  type UpstreamRequest,
  unsendable,
  upstreamRequest,
} from './failure.ts';

/** One server-sent event; `name` is its `event` field. */
export interface UpstreamEvent {
  name: string | undefined;
  data: string;
}

export interface EventStreamOptions extends AnswerSizeOptions {
  providerId: string;
  timeouts: Timeouts;
  signal: AbortSignal;
  /** See `ProviderCall.pace`. */
  pace?: ReadPace | undefined;
}

const maxErrorBytes = 64 * 1024;
/** How long to wait for the body of an error answer. Without it, the status alone decides. */
const refusalMs = 2000;
/** Events buffered for the consumer, and their characters, before the socket is paused. */
const maxQueued = 1024;
const maxQueuedCharacters = 256 * 1024;
/** How long the connection of a complete answer may take to become idle, so that the next request can reuse it. */
const lingerMs = 250;
/** How long to wait for usage and the end marker after a finish reason. */
const closingMs = 1000;

type State = 'connecting' | 'sent' | 'answering' | 'closing' | 'released' | 'over';

/**
 * The events of one HTTP answer, read from the socket as they are taken.
 *
 * The stream ends by the signal, one of the three time-outs, a size limit, a status other than 200, a body that is
 * not an event stream, an error of the transport, or the end of the body. An abort closes the socket in the same turn
 * of the event loop; a connection that is still being made is closed as soon as it is established.
 */
export class EventStream implements Dispatcher.DispatchHandler {
  readonly #options: EventStreamOptions;
  readonly #decoder = new StringDecoder('utf8');
  readonly #parser = createParser({
    onEvent: (event) => this.#push({ name: event.event, data: event.data }),
  });
  readonly #onAbort = () => this.#end(this.#options.signal.reason);
  readonly #silence = new SilenceTimer({
    isAwaited: () => this.#wake !== undefined,
    onSilence: () => this.#onSilence(),
  });
  readonly #size: AnswerSize;
  readonly #over = Promise.withResolvers<void>();
  #state: State = 'connecting';
  #controller: Dispatcher.DispatchController | undefined;
  #request: UpstreamRequest = {};
  #queue: UpstreamEvent[] = [];
  #queuedCharacters = 0;
  /** Whether the pace lets nothing more be read for now. */
  #isHeld = false;
  #wake: (() => void) | undefined;
  #failure: { error: unknown } | undefined;
  #refused: { status: number; headers: Headers; body: string } | undefined;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#size = new AnswerSize(options);
    if (options.signal.aborted) this.#end(options.signal.reason);
    else {
      options.signal.addEventListener('abort', this.#onAbort, { once: true });
      this.#arm(options.timeouts.connectMs);
    }
  }

  /** Resolves when the stream is released and its connection is idle or closed. Never rejects. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Waits for an event and returns all that have arrived; undefined once the upstream has ended the stream. */
  async take(): Promise<UpstreamEvent[] | undefined> {
    this.#options.signal.throwIfAborted();
    if (this.#queue.length === 0 && this.#state !== 'over' && !this.#failure) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#options.signal.throwIfAborted();
    }
    if (this.#queue.length > 0) {
      const events = this.#queue;
      this.#queue = [];
      this.#queuedCharacters = 0;
      this.#resume();
      return events;
    }
    // After the finish reason the answer is complete, however the connection ends.
    if (this.#failure && this.#state !== 'closing') throw this.#failure.error;
    return undefined;
  }

  /** Notes that the first chunk has arrived: from now on the idle time-out applies. */
  answering(): void {
    if (this.#state !== 'sent') return;
    this.#state = 'answering';
    this.#arm(this.#options.timeouts.idleMs);
  }

  /** Notes that the model has finished: only usage and the end marker may follow, and failures are ignored. */
  closing(): void {
    if (this.#state !== 'sent' && this.#state !== 'answering') return;
    this.#state = 'closing';
    this.#arm(Math.min(closingMs, this.#options.timeouts.idleMs));
  }

  /**
   * Closes the stream. The socket is closed at once unless the answer is `complete`. In that case the connection
   * has a moment to become idle, so that the next request can reuse it.
   */
  release(complete: boolean): void {
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    this.#queue = [];
    this.#queuedCharacters = 0;
    if (this.#state === 'over' || this.#failure) {
      this.#stop();
    } else if (complete) {
      this.#state = 'released';
      this.#arm(lingerMs);
      this.#isHeld = false;
      this.#resume();
    } else {
      this.#end(brokenStream(this.#options.providerId, 'is no longer needed'));
      this.#stop();
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#state !== 'connecting' || this.#failure) {
      controller.abort(new Error('The call ended while the connection was being made.'));
      return;
    }
    this.#state = 'sent';
    this.#arm(this.#options.timeouts.firstTokenMs);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // A kilobyte and a half for as long as the answer lasts.
    controller.rawHeaders = null;
    if (status < 200 || this.#failure) return;
    this.#request = { upstreamStatus: status, ...upstreamRequest(headers) };
    if (status !== 200) {
      this.#refused = { status, headers, body: '' };
      this.#arm(refusalMs);
      return;
    }
    if (!/^text\/event-stream\s*(?:;|$)/i.test(textOf(headers['content-type']) ?? '')) {
      this.#fail('answered with something that is no event stream');
    } else if ((textOf(headers['content-encoding']) ?? 'identity').toLowerCase() !== 'identity') {
      this.#fail('answered with an encoding that was not asked for');
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#state === 'released' || this.#failure) return;
    if (this.#refused) {
      this.#refused.body += this.#decoder.write(bytes);
      if (this.#refused.body.length > maxErrorBytes) this.#endRefused();
      return;
    }
    this.#size.add(bytes.length);
    const queued = this.#queue.length;
    this.#parser.feed(this.#decoder.write(bytes));
    this.#refuse(this.#size.excessOfEvent(this.#size.sinceEvent) ?? this.#size.excess());
    if (this.#queue.length > maxQueued || this.#queuedCharacters > maxQueuedCharacters) controller.pause();
    this.#keepPace(controller, this.#queue.length > queued);
    if (this.#queue.length > 0) this.#rouse();
  }

  onResponseEnd(): void {
    if (this.#refused) this.#endRefused();
    const wasReleased = this.#state === 'released';
    if (!this.#failure) this.#state = 'over';
    if (wasReleased) this.#stop();
    else this.#rouse();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#refused) this.#endRefused();
    if (this.#state === 'released') {
      this.#stop();
    } else if ('code' in error && error.code === 'UND_ERR_INVALID_ARG') {
      this.#end(unsendable(this.#options.providerId, error));
    } else {
      this.#fail(this.#state === 'connecting' ? 'could not be reached' : 'broke the connection', error);
    }
  }

  #push(event: UpstreamEvent): void {
    this.#refuse(this.#size.excessOfEvent(event.data.length));
    if (this.#failure) return;
    this.#size.endEvent();
    this.#silence.heard();
    this.#queue.push(event);
    this.#queuedCharacters += event.data.length;
  }

  /** Reads no further for as long as the pace asks for it. */
  #keepPace(controller: Dispatcher.DispatchController, hasEvents: boolean): void {
    if (this.#failure) return;
    const pause = this.#options.pace?.readAhead(this.#queuedCharacters + this.#size.sinceEvent, {
      hasEvents,
    });
    if (!pause) return;
    this.#isHeld = true;
    this.#silence.pause();
    controller.pause();
    void pause.then(() => {
      this.#isHeld = false;
      if (this.#queue.length === 0) this.#resume();
    });
  }

  #resume(): void {
    if (this.#isHeld || !this.#controller?.paused) return;
    this.#silence.resume();
    this.#controller.resume();
  }

  #arm(limitMs: number): void {
    const countsEvents = this.#state === 'answering' || this.#state === 'closing';
    this.#silence.arm(limitMs, { countsEvents });
  }

  #onSilence(): void {
    switch (this.#state) {
      case 'connecting':
        return this.#fail('took too long to connect');
      case 'sent':
        return this.#refused ? this.#endRefused() : this.#fail('took too long to send a first token');
      case 'answering':
        return this.#fail('fell silent in the middle of an answer');
      case 'closing':
        return this.#fail('did not end its stream');
      case 'released':
        this.#controller?.abort(new Error('The connection did not end with its answer.'));
        return this.#stop();
      case 'over':
        return;
    }
  }

  #endRefused(): void {
    if (!this.#refused) return;
    const { status, headers, body } = this.#refused;
    this.#end(failedStatus(this.#options.providerId, status, headers, body));
  }

  #fail(what: string, cause?: unknown): void {
    // Nothing of the request was sent before the connection stood.
    const fault = this.#state === 'connecting' ? 'unreachable' : 'broken';
    this.#end(brokenStream(this.#options.providerId, what, { ...this.#request, fault, cause }));
  }

  /** Ends the stream if it exceeds a limit of size. */
  #refuse(excess: string | undefined): void {
    if (excess !== undefined) this.#end(tooLarge(this.#options.providerId, excess, this.#request));
  }

  /** Ends the stream with the first failure. Errors that result from closing the socket are ignored. */
  #end(error: unknown): void {
    if (this.#failure) return;
    this.#failure = { error };
    this.#silence.stop();
    this.#controller?.abort(error instanceof Error ? error : new Error('The call was aborted.'));
    this.#rouse();
  }

  #stop(): void {
    this.#silence.stop();
    this.#over.resolve();
  }

  #rouse(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
