import type { ServerResponse } from 'node:http';
import { defaultStalledMs as stalledMs, drained, SliceTurns, slicesOf } from './reader-pace.ts';
import type { EventSink, SentEvent } from './responses/event-sink.ts';

/** How often a comment goes out while nothing else does: proxies close what is silent. */
const pingMs = 15_000;

/** Timers of many streams are due at the same times, so that the process has few lists of them, in milliseconds. */
const timerStepMs = 250;

/** A timer may be so much early, in milliseconds: what is due by then is due. */
const earlyMs = 100;

/** When a stream that waits says so for the first time, in milliseconds. */
const firstRemarkMs = 1_000;

/** After this long without an event the latest life-cycle event is sent again: some clients count only events. */
export const repeatMs = 60_000;

/** Past so many characters events go out in another write, so that a slow reader costs a bounded buffer. */
const maxWrite = 64 * 1024;

/** An event of more characters than this is written in slices, for the same reason. */
const largeEvent = 128 * 1024;

/** How the events of a response are written on an event stream. One framing serves one stream, and may keep count. */
export interface StreamFraming {
  /** The frames of events that go out in one write. `isLatest`: there is nothing behind them yet. */
  frames(events: readonly SentEvent[], isLatest: boolean): string;
  /** What is written once everything there is has been sent; empty for nothing. */
  caughtUp(): string;
  /** What is written last, behind the event that ends the response. */
  last(): string;
  readonly cacheControl: string;
  /** Whether a reader comes back by itself for what it has not got, when its stream is over without its last frame. */
  readonly readersReturn: boolean;
  /** Whether an event may be sent again, under its number, while the stream is silent. */
  readonly mayRepeat: boolean;
}

/** Streams of the Responses API: an event each, and `[DONE]` at the end. */
export const responseFraming: StreamFraming = {
  frames: (events) => events.map(frameOf).join(''),
  caughtUp: () => '',
  last: () => 'data: [DONE]\n\n',
  cacheControl: 'no-cache, no-transform',
  readersReturn: false,
  mayRepeat: true,
};

function frameOf({ type, json }: SentEvent): string {
  return `event: ${type}\ndata: ${json}\n\n`;
}

/**
 * One event stream on a socket. The only place that writes bytes of one.
 *
 * An event and its blank line go out in one write: there are parsers that lose an event otherwise. Only an event that is
 * larger than all that is buffered for a reader is written in slices.
 */
export class SseStream implements EventSink {
  readonly #raw: ServerResponse;
  readonly #framing: StreamFraming;
  readonly #turns: SliceTurns;
  readonly #gone = new AbortController();
  #repeat: (() => SentEvent | undefined) | undefined;
  #isOver = false;
  /** Whether a part of a frame was sent, behind which nothing but the rest of it may come. */
  #isInFrame = false;
  /** Whether anything was sent, if only the head. */
  #hasBegun = false;
  #lastWrite = performance.now();
  #lastEvent = performance.now();
  #remark: (() => Promise<string | undefined>) | undefined;
  #timer: NodeJS.Timeout;
  readonly #firstRemark: NodeJS.Timeout;

  constructor(
    raw: ServerResponse,
    headers: Record<string, string>,
    framing: StreamFraming = responseFraming,
    turns = new SliceTurns(),
  ) {
    this.#turns = turns;
    this.#raw = raw;
    this.#framing = framing;
    raw.on('close', () => this.#gone.abort(new Error('The client closed the connection')));
    raw.on('error', () => this.#gone.abort(new Error('The connection broke')));
    // Node.js says whether the connection stays open, as the client asked.
    raw.writeHead(200, {
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': framing.cacheControl,
      'x-accel-buffering': 'no',
    });
    raw.socket?.setNoDelay(true);
    this.#timer = setTimeout(() => void this.#beat(), pingMs);
    this.#firstRemark = setTimeout(() => void this.#say(), firstRemarkMs);
    if (raw.destroyed) this.#gone.abort(new Error('The client closed the connection'));
  }

  /** Aborted when the client is gone, whoever noticed it first. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Sets what is sent again while the stream is silent: the latest life-cycle event, under the last number. */
  repeatWhileSilent(event: () => SentEvent | undefined): void {
    this.#repeat = event;
  }

  /** Sets what a comment says while the stream is silent, soon after it was opened and then with each ping. */
  remarkWhileSilent(remark: () => Promise<string | undefined>): void {
    this.#remark = remark;
  }

  /**
   * Writes events, several of a turn in one write, and waits while the client is slower than we are.
   *
   * Rejects when the client is gone or has taken nothing for half a minute.
   */
  async write(events: readonly SentEvent[], isLatest = false): Promise<void> {
    this.#lastEvent = performance.now();
    let turn: SentEvent[] = [];
    let characters = 0;
    for (const event of events) {
      if (event.texts) {
        // It may be long, and goes alone: its long texts are bytes that all readers share.
        if (turn.length > 0) await this.#push(this.#framing.frames(turn, false));
        await this.#pushLong(event, isLatest && event === events.at(-1));
        turn = [];
        characters = 0;
        continue;
      }
      if (characters > maxWrite) {
        await this.#push(this.#framing.frames(turn, false));
        turn = [];
        characters = 0;
      }
      turn.push(event);
      characters += event.json.length;
    }
    if (turn.length > 0) await this.#push(this.#framing.frames(turn, isLatest));
  }

  /** Whoever resumes where there is nothing new yet learns at once that the stream is there: the head goes without an event. */
  caughtUp(): void {
    const text = this.#framing.caughtUp();
    if (this.#isOver || this.#gone.signal.aborted) return;
    if (text !== '') this.#send(text);
    else if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#raw.flushHeaders();
    }
  }

  /** Sends the last frame and closes. */
  end(): void {
    this.#stopBeating();
    if (this.#raw.destroyed) return;
    // A client that stops reading right before the last frame must not keep its socket for ever.
    const timer = setTimeout(() => this.#raw.destroy(), stalledMs);
    this.#raw.once('close', () => clearTimeout(timer));
    this.#raw.end(this.#framing.last());
  }

  /** Closes without a last frame: the stream was cut and does not pretend otherwise. */
  cut(): void {
    this.#stopBeating();
    if (this.#framing.readersReturn && !this.#raw.destroyed && !this.#raw.writableNeedDrain) this.#raw.end();
    else this.#raw.destroy();
  }

  async #push(frames: string): Promise<void> {
    if (frames.length <= maxWrite + largeEvent) {
      if (!this.#send(frames)) await this.#drained();
      return;
    }
    await this.#pushSlices([Buffer.from(frames)]);
  }

  async #pushLong(event: SentEvent, isLatest: boolean): Promise<void> {
    const frames = this.#framing.frames([event], isLatest);
    await this.#pushSlices(event.texts?.piecesOf(frames) ?? []);
  }

  async #pushSlices(pieces: readonly Buffer[]): Promise<void> {
    this.#isInFrame = true;
    for (const piece of pieces) {
      for (const slice of slicesOf(piece)) {
        await new Promise<void>((resolve) => this.#turns.take(resolve));
        if (!this.#send(slice)) await this.#drained();
      }
    }
    this.#isInFrame = false;
  }

  #send(text: string | Buffer): boolean {
    this.#gone.signal.throwIfAborted();
    this.#lastWrite = performance.now();
    this.#hasBegun = true;
    return this.#raw.write(text);
  }

  #stopBeating(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#firstRemark);
  }

  get #mayBeat(): boolean {
    return !this.#isOver && !this.#isInFrame && !this.#gone.signal.aborted && !this.#raw.writableNeedDrain;
  }

  /** Returns whether there was something to say. */
  async #say(): Promise<boolean> {
    const remark = await this.#remark?.();
    if (remark === undefined || !this.#mayBeat) return false;
    this.#send(`: ${remark}\n\n`);
    return true;
  }

  /** Sends what is due, and comes back when the next ping would be: a write in between puts that off. */
  async #beat(): Promise<void> {
    const now = performance.now();
    const dueInMs = this.#lastWrite + pingMs - now;
    const waitMs = dueInMs > earlyMs ? Math.ceil(dueInMs / timerStepMs) * timerStepMs : pingMs;
    this.#timer = setTimeout(() => void this.#beat(), waitMs);
    if (!this.#mayBeat) return;
    const repeated =
      this.#framing.mayRepeat && now - this.#lastEvent >= repeatMs ? this.#repeat?.() : undefined;
    if (repeated) {
      this.#lastEvent = now;
      this.#send(frameOf(repeated));
    } else if (now - this.#lastWrite >= pingMs - earlyMs) {
      if (this.#remark && (await this.#say())) return;
      if (this.#mayBeat) this.#send(': ping\n\n');
    }
  }

  #drained(): Promise<void> {
    return drained(this.#raw, {
      signal: this.#gone.signal,
      stalledMs,
      onStalled: () => {
        this.#gone.abort(new Error('The client took nothing for too long'));
        this.#raw.destroy();
      },
    });
  }
}
