import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { commentOf, EventStream, frameOf, plainHeaders } from './event-stream.ts';
import { processingMs } from './plugins/request-context.ts';
import type { SliceTurns } from './reader-pace.ts';
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
  /**
   * The frames of events that go out in one write. `isLatest`: there is nothing behind them yet. Marks of a text stand for the long texts
   * of its event; pieces have none.
   */
  frames(events: readonly SentEvent[], isLatest: boolean): string | readonly Buffer[];
  /** The text that is written once every event there is has been sent; none by default. */
  caughtUp?(): string;
  /** The text that is written last, behind the event that ends the response; none by default. */
  last?(): string;
  /** By default the one that forbids to keep the stream. */
  readonly cacheControl?: string;
  /** Whether a reader comes back by itself for what it has not got, when its stream is over without its last frame. */
  readonly readersReturn?: boolean;
  /** Whether an event may be sent again, under its number, while the stream is silent. */
  readonly mayRepeat?: boolean;
  /** The text that is written while nothing else is; a comment by default. */
  readonly ping?: string;
}

/** Streams of the Responses API: an event each, and `[DONE]` at the end. */
export const responseFraming: StreamFraming = {
  frames: (events) => events.map(({ type, json }) => frameOf(type, json)).join(''),
  last: () => 'data: [DONE]\n\n',
  mayRepeat: true,
};

/** Begins an event stream in place of a reply's body, with the headers that were set so far. */
export function openEventStream(reply: FastifyReply, framing?: StreamFraming): SseStream {
  reply.hijack();
  const headers = { ...plainHeaders(reply), 'openai-processing-ms': processingMs(reply) };
  return new SseStream(reply.raw, headers, framing, reply.server.sliceTurns);
}

/**
 * The events of one response on an event stream.
 *
 * An event and its blank line go out in one write: there are parsers that lose an event otherwise. Only an event that is
 * larger than all that is buffered for a reader is written in slices.
 */
export class SseStream implements EventSink {
  readonly #stream: EventStream;
  readonly #framing: StreamFraming;
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
    turns?: SliceTurns,
  ) {
    const { cacheControl = 'no-cache, no-transform' } = framing;
    this.#framing = framing;
    this.#stream = new EventStream(raw, headers, { cacheControl, turns });
    this.#timer = setTimeout(() => void this.#beat(), pingMs);
    this.#firstRemark = setTimeout(() => void this.#say(), firstRemarkMs);
  }

  /** Aborted when the client is gone, by whichever sign that shows first. */
  get gone(): AbortSignal {
    return this.#stream.gone;
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

  /** Sends the head without an event, so that a reader that resumes where nothing is new yet sees at once that the stream is there. */
  caughtUp(): void {
    const text = this.#framing.caughtUp?.() ?? '';
    if (this.#isOver || this.gone.aborted) return;
    if (text !== '') this.#send(text);
    else if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#stream.begin();
    }
  }

  /** Sends the last frame and closes. */
  end(): void {
    this.#stopBeating();
    this.#stream.end(this.#framing.last?.());
  }

  /** Closes without a last frame: the stream was cut and does not pretend otherwise. */
  cut(): void {
    this.#stopBeating();
    if (this.#framing.readersReturn && !this.#stream.isFull) this.#stream.end();
    else this.#stream.cut();
  }

  #push(frames: string | readonly Buffer[]): Promise<void> {
    if (typeof frames !== 'string') return this.#pushSlices(frames);
    if (frames === '') return Promise.resolve();
    if (frames.length > maxWrite + largeEvent) return this.#pushSlices([Buffer.from(frames)]);
    this.#noteWrite();
    return this.#stream.writeInTurn(frames);
  }

  async #pushLong(event: SentEvent, isLatest: boolean): Promise<void> {
    const frames = this.#framing.frames([event], isLatest);
    await this.#pushSlices(typeof frames === 'string' ? (event.texts?.piecesOf(frames) ?? []) : frames);
  }

  async #pushSlices(pieces: readonly Buffer[]): Promise<void> {
    this.#isInFrame = true;
    await this.#stream.writeSlices(pieces);
    this.#noteWrite();
    this.#isInFrame = false;
  }

  #send(text: string): void {
    this.#noteWrite();
    this.#stream.write(text);
  }

  #noteWrite(): void {
    this.#lastWrite = performance.now();
    this.#hasBegun = true;
  }

  #stopBeating(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#firstRemark);
  }

  get #mayBeat(): boolean {
    return !this.#isOver && !this.#isInFrame && !this.gone.aborted && !this.#stream.isFull;
  }

  /** Returns whether there was something to say. */
  async #say(): Promise<boolean> {
    const remark = await this.#remark?.();
    if (remark === undefined || !this.#mayBeat) return false;
    this.#send(commentOf(remark));
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
      this.#send(frameOf(repeated.type, repeated.json));
    } else if (now - this.#lastWrite >= pingMs - earlyMs) {
      if (this.#remark && (await this.#say())) return;
      if (this.#mayBeat) this.#send(this.#framing.ping ?? commentOf('ping'));
    }
  }
}
