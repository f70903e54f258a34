import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { drained, slicesOf } from '../reader-pace.ts';

/** Past so many characters frames go out in another write, so that a slow reader costs a bounded buffer. */
const maxWrite = 64 * 1024;

/** A frame of more characters than this is written in fragments, for the same reason. */
const largeFrame = 128 * 1024;

/** Why a connection ends (RFC 6455, section 7.4.1). Clients come back by themselves after `goingAway`, `restart` and `overload`. */
export const closeCodes = {
  normal: 1000,
  goingAway: 1001,
  policy: 1008,
  tooLarge: 1009,
  restart: 1012,
  overload: 1013,
} as const;

export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes];

/**
 * Writes the frames of one connection. Lanes share it: what one of them writes is whole before another one writes, since no
 * frame may stand between the fragments of a message.
 */
export class FrameWriter {
  readonly #socket: WebSocket;
  readonly #connection: Duplex;
  readonly #stalledMs: number;
  readonly #gone = new AbortController();
  #turn: Promise<void> = Promise.resolve();

  constructor(socket: WebSocket, connection: Duplex, { stalledMs }: { stalledMs: number }) {
    this.#socket = socket;
    this.#connection = connection;
    this.#stalledMs = stalledMs;
    socket.once('close', () => this.#gone.abort(new Error('The connection is closed')));
  }

  /** Aborted when nobody reads any more. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Writes frames and waits while the reader is slower. Rejects when it is gone, or takes nothing for too long. */
  write(frames: readonly string[]): Promise<void> {
    const written = this.#turn.then(() => this.#writeNow(frames));
    this.#turn = written.catch(() => undefined);
    return written;
  }

  /**
   * Closes the connection behind everything that was written. With `lingerMs` it is cut after that time, for a client whose
   * answer is not read any more.
   */
  close(code: CloseCode, { reason, lingerMs }: { reason?: string; lingerMs?: number } = {}): void {
    void this.#turn.then(() => {
      this.#socket.close(code, reason);
      if (lingerMs === undefined) return;
      const timer = setTimeout(() => this.#socket.terminate(), lingerMs);
      this.#socket.once('close', () => clearTimeout(timer));
    });
  }

  async #writeNow(frames: readonly string[]): Promise<void> {
    let together: string[] = [];
    let length = 0;
    for (const frame of frames) {
      if (frame.length > largeFrame) {
        await this.#send(together);
        await this.#sendInFragments(frame);
        together = [];
        length = 0;
        continue;
      }
      together.push(frame);
      length += frame.length;
      if (length <= maxWrite) continue;
      await this.#send(together);
      together = [];
      length = 0;
    }
    await this.#send(together);
  }

  async #send(frames: readonly string[]): Promise<void> {
    if (frames.length === 0) return;
    this.#gone.signal.throwIfAborted();
    this.#connection.cork();
    for (const frame of frames) this.#socket.send(frame);
    this.#connection.uncork();
    await this.#untilDrained();
  }

  async #sendInFragments(frame: string): Promise<void> {
    let before: Buffer | undefined;
    for (const slice of slicesOf(Buffer.from(frame))) {
      if (before) await this.#sendFragment(before, false);
      before = slice;
    }
    if (before) await this.#sendFragment(before, true);
  }

  async #sendFragment(fragment: Buffer, fin: boolean): Promise<void> {
    this.#gone.signal.throwIfAborted();
    this.#socket.send(fragment, { binary: false, fin });
    await this.#untilDrained();
  }

  async #untilDrained(): Promise<void> {
    if (!this.#connection.writableNeedDrain) return;
    await drained(this.#connection, {
      signal: this.#gone.signal,
      stalledMs: this.#stalledMs,
      onStalled: () => {
        this.#gone.abort(new Error('The client took nothing for too long'));
        this.#socket.terminate();
      },
    });
  }
}
