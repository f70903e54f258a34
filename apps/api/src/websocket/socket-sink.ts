import type { EventSink, SentEvent } from '../responses/event-sink.ts';
import { repeatMs } from '../sse.ts';
import type { FrameWriter } from './frame-writer.ts';

/**
 * The events of one turn as frames of its connection. A frame is the JSON of the event, with the `stream_id` of its lane
 * where that has one. There is no frame behind the last event.
 */
export class SocketSink implements EventSink {
  readonly #writer: FrameWriter;
  /** The text in place of the last brace of each event. */
  readonly #closing: string;
  readonly #timer: NodeJS.Timeout;
  #repeat: (() => SentEvent | undefined) | undefined;
  #lastEvent = performance.now();
  #isWhole = false;

  constructor(writer: FrameWriter, streamId: string | undefined) {
    this.#writer = writer;
    this.#closing = streamId === undefined ? '}' : `,"stream_id":${JSON.stringify(streamId)}}`;
    this.#timer = setInterval(() => this.#beat(), repeatMs / 4);
  }

  get gone(): AbortSignal {
    return this.#writer.gone;
  }

  /** Whether the last event was sent. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  async write(events: readonly SentEvent[]): Promise<void> {
    this.#lastEvent = performance.now();
    await this.#writer.write(events.map((event) => this.#frame(wholeJson(event))));
  }

  /** Nothing is said between events. */
  caughtUp(): void {}

  repeatWhileSilent(event: () => SentEvent | undefined): void {
    this.#repeat = event;
  }

  /** The protocol has frames for events alone; its pings keep the connection open. */
  remarkWhileSilent(): void {}

  end(): void {
    clearInterval(this.#timer);
    this.#isWhole = true;
  }

  cut(): void {
    clearInterval(this.#timer);
  }

  #frame(json: string): string {
    return this.#closing === '}' ? json : json.slice(0, -1) + this.#closing;
  }

  #beat(): void {
    const isSilent = performance.now() - this.#lastEvent >= repeatMs;
    const repeated = isSilent ? this.#repeat?.() : undefined;
    // It fails when nobody reads any more, which the next write notices.
    if (repeated) this.write([repeated]).catch(() => undefined);
  }
}

function wholeJson({ json, texts }: SentEvent): string {
  return texts ? Buffer.concat(texts.piecesOf(json)).toString() : json;
}
