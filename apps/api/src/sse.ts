import type { ServerResponse } from 'node:http';
import { defaultStalledMs as stalledMs, drained, slicesOf } from './reader-pace.ts';
import type { EventSink, SentEvent } from './responses/event-sink.ts';

/** How often a comment goes out while nothing else does: proxies close what is silent. */
const pingMs = 15_000;

/** When a stream that waits says so for the first time, in milliseconds. */
const firstRemarkMs = 1_000;

/** After this long without an event the latest life-cycle event is sent again: some clients count only events. */
export const repeatMs = 60_000;

/** Past so many characters events go out in another write, so that a slow reader costs a bounded buffer. */
const maxWrite = 64 * 1024;

/** An event of more characters than this is written in slices, for the same reason. */
const largeEvent = 128 * 1024;

/**
 * One event stream on a socket. The only place that writes bytes of one.
 *
 * An event and its blank line go out in one write: there are parsers that lose an event otherwise. Only an event that is
 * larger than all that is buffered for a reader is written in slices.
 */
export class SseStream implements EventSink {
  readonly #raw: ServerResponse;
  readonly #gone = new AbortController();
  #repeat: (() => SentEvent | undefined) | undefined;
  #isOver = false;
  #lastWrite = performance.now();
  #lastEvent = performance.now();
  #remark: (() => Promise<string | undefined>) | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #firstRemark: NodeJS.Timeout;

  constructor(raw: ServerResponse, headers: Record<string, string>) {
    this.#raw = raw;
    raw.on('close', () => this.#gone.abort(new Error('The client closed the connection')));
    raw.on('error', () => this.#gone.abort(new Error('The connection broke')));
    // Node.js says whether the connection stays open, as the client asked.
    raw.writeHead(200, {
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    raw.socket?.setNoDelay(true);
    this.#timer = setInterval(() => void this.#beat(), pingMs);
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
  async write(events: readonly SentEvent[]): Promise<void> {
    this.#lastEvent = performance.now();
    let frames = '';
    for (const { type, json } of events) {
      if (frames.length > maxWrite) {
        await this.#push(frames);
        frames = '';
      }
      frames += `event: ${type}\ndata: ${json}\n\n`;
    }
    await this.#push(frames);
  }

  /** Sends the last frame and closes. */
  end(): void {
    this.#stopBeating();
    if (this.#raw.destroyed) return;
    // A client that stops reading right before the last frame must not keep its socket for ever.
    const timer = setTimeout(() => this.#raw.destroy(), stalledMs);
    this.#raw.once('close', () => clearTimeout(timer));
    this.#raw.end('data: [DONE]\n\n');
  }

  /** Closes without a last frame: the stream was cut and does not pretend otherwise. */
  cut(): void {
    this.#stopBeating();
    this.#raw.destroy();
  }

  async #push(frames: string): Promise<void> {
    if (frames.length <= maxWrite + largeEvent) {
      if (!this.#send(frames)) await this.#drained();
      return;
    }
    for (const slice of slicesOf(Buffer.from(frames))) {
      if (!this.#send(slice)) await this.#drained();
    }
  }

  #send(text: string | Buffer): boolean {
    this.#gone.signal.throwIfAborted();
    this.#lastWrite = performance.now();
    return this.#raw.write(text);
  }

  #stopBeating(): void {
    this.#isOver = true;
    clearInterval(this.#timer);
    clearTimeout(this.#firstRemark);
  }

  get #mayBeat(): boolean {
    return !this.#isOver && !this.#gone.signal.aborted && !this.#raw.writableNeedDrain;
  }

  /** Returns whether there was something to say. */
  async #say(): Promise<boolean> {
    const remark = await this.#remark?.();
    if (remark === undefined || !this.#mayBeat) return false;
    this.#send(`: ${remark}\n\n`);
    return true;
  }

  async #beat(): Promise<void> {
    if (!this.#mayBeat) return;
    const now = performance.now();
    const repeated = now - this.#lastEvent >= repeatMs ? this.#repeat?.() : undefined;
    if (repeated) {
      this.#lastEvent = now;
      this.#send(`event: ${repeated.type}\ndata: ${repeated.json}\n\n`);
    } else if (now - this.#lastWrite >= pingMs - 100) {
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
