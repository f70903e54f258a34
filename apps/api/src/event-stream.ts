import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { defaultStalledMs, drained, SliceTurns, slicesOf } from './reader-pace.ts';

/** The frame of an event. Its data is one line. */
export function frameOf(event: string, data: string, id?: string): string {
  return `${headOf(event, id)}${data}${endOfFrame}`;
}

function headOf(event: string, id: string | undefined): string {
  const named = id === undefined ? '' : `id: ${id}\n`;
  return `${named}event: ${event}\ndata: `;
}

const endOfFrame = '\n\n';

/** The same frame in pieces, for data that is large. The pieces of the data are not copied. */
export function frameInPieces(event: string, data: readonly Buffer[], id?: string): Buffer[] {
  return [Buffer.from(headOf(event, id)), ...data, Buffer.from(endOfFrame)];
}

/** The frame of a comment, which no client takes for an event. */
export function commentOf(text: string): string {
  return `: ${text}${endOfFrame}`;
}

export interface EventStreamOptions {
  cacheControl: string;
  /** Shared by all readers of a process. */
  turns?: SliceTurns | undefined;
  /** How long a reader may take nothing before its connection is closed, in milliseconds; half a minute by default. */
  stalledMs?: number | undefined;
}

/** The bytes of one event stream on a connection, in the order in which they are written. Nothing else writes any. */
export class EventStream {
  readonly #raw: ServerResponse;
  readonly #turns: SliceTurns;
  readonly #stalledMs: number;
  readonly #gone = new AbortController();
  #isHeadWritten = false;

  constructor(
    raw: ServerResponse,
    headers: Record<string, string>,
    { cacheControl, turns = new SliceTurns(), stalledMs = defaultStalledMs }: EventStreamOptions,
  ) {
    this.#raw = raw;
    this.#turns = turns;
    this.#stalledMs = stalledMs;
    raw.on('close', () => this.#gone.abort(new Error('The client closed the connection')));
    raw.on('error', () => this.#gone.abort(new Error('The connection broke')));
    // Node.js says whether the connection stays open, as the client asked.
    raw.writeHead(200, {
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': cacheControl,
      'x-accel-buffering': 'no',
    });
    raw.socket?.setNoDelay(true);
    if (raw.destroyed) this.#gone.abort(new Error('The client closed the connection'));
  }

  /** Aborted when the reader is gone, takes nothing for too long, or was cut off. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Whether the reader has not taken what was written by now. */
  get isFull(): boolean {
    return this.#raw.writableNeedDrain;
  }

  /** How many bytes the reader is behind. */
  get unreadBytes(): number {
    return this.#raw.writableLength;
  }

  /** Writes at once, however far the reader is behind. Throws when it is gone. */
  write(text: string | Buffer): void {
    this.#gone.signal.throwIfAborted();
    this.#write(text);
  }

  /** Writes, and waits while the reader is slower than we are. Rejects when it is gone, or takes nothing for too long. */
  async writeInTurn(text: string | Buffer): Promise<void> {
    this.#gone.signal.throwIfAborted();
    if (this.#write(text)) return;
    await drained(this.#raw, {
      signal: this.#gone.signal,
      stalledMs: this.#stalledMs,
      onStalled: () => this.cut(new Error('The client took nothing for too long')),
    });
  }

  /** Writes what is large: slice by slice, each when the one before is taken and other readers had their turn. */
  async writeSlices(pieces: readonly Buffer[]): Promise<void> {
    for (const piece of pieces) {
      for (const slice of slicesOf(piece)) {
        await new Promise<void>((resolve) => this.#turns.take(resolve));
        await this.writeInTurn(slice);
      }
    }
  }

  /** Sends the head alone. */
  begin(): void {
    this.#isHeadWritten = true;
    this.#raw.flushHeaders();
  }

  /**
   * The head goes with what comes first, and as a text of its own: Node.js keeps it for as long as the stream lasts, and one that was written
   * is flat, while one that was joined with another text stays a tree of the thirty that it was made of.
   */
  #write(text: string | Buffer): boolean {
    if (this.#isHeadWritten) return this.#raw.write(text);
    const { socket } = this.#raw;
    socket?.cork();
    try {
      this.begin();
      return this.#raw.write(text);
    } finally {
      socket?.uncork();
    }
  }

  /** Writes the last bytes and closes. */
  end(last = ''): void {
    if (this.#raw.destroyed) return;
    // A client that stops reading right before the last frame must not keep its socket for ever.
    const timer = setTimeout(() => this.#raw.destroy(), this.#stalledMs);
    this.#raw.once('close', () => clearTimeout(timer));
    this.#raw.end(last);
  }

  /** Closes without waiting for the reader, who counts as gone when there is a reason. */
  cut(reason?: Error): void {
    if (reason) this.#gone.abort(reason);
    this.#raw.destroy();
  }
}

/** The headers that hooks have set so far; `writeHead` of a hijacked reply would leave them out. */
export function plainHeaders(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  );
}
