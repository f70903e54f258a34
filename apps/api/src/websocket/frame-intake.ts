import { ServiceError } from '@sluice/contract';
import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import type { BodyBudget, BodyReservation } from '../bodies/body-budget.ts';

/** A frame of fewer bytes is counted when it is whole. */
const smallFrame = 16 * 1024;

/** Bytes of a client's control frame before its data (RFC 6455, section 5.2). */
const controlHeader = 6;

/** A frame that has arrived. Whoever is done with it releases its bytes. */
export interface ReceivedFrame {
  /** In a buffer of their own, which can be transferred; undefined for a frame that is no text. */
  bytes: Buffer<ArrayBuffer> | undefined;
  reservation: BodyReservation;
}

export interface FrameIntakeOptions {
  tenant: string;
  budget: BodyBudget;
  /** Most bytes of a frame, at this moment. */
  mostBytes: () => number;
  /** Works at a frame. Nothing else is read until it is done and whatever it led to is written; it never rejects. */
  onFrame: (frame: ReceivedFrame) => Promise<void>;
  /** There is no room for what arrives. Nothing more of the connection is read. */
  onRefused: (error: unknown) => void;
}

/**
 * What arrives over one connection: one frame after the other. A frame is counted against the memory of the process while it
 * arrives, as the body of a request is, and reading stops while a frame is worked at.
 */
export class FrameIntake {
  readonly #socket: WebSocket;
  readonly #connection: Duplex;
  readonly #options: FrameIntakeOptions;
  readonly #arrived: ReceivedFrame[] = [];
  #reservation: BodyReservation | undefined;
  /** Bytes since the last whole frame. */
  #unfinished = 0;
  /** How many of them are reserved. */
  #reserved = 0;
  #isWorking = false;
  #isOver = false;
  /** What there was of a frame when `hasStalled` was asked last. */
  #lookedAt = 0;

  constructor(socket: WebSocket, connection: Duplex, options: FrameIntakeOptions) {
    this.#socket = socket;
    this.#connection = connection;
    this.#options = options;
    // Before the library sees them: it keeps what it has of a frame to itself.
    connection.prependListener('data', (chunk: Buffer) => this.#count(chunk.length));
    socket.on('message', (data, isBinary) => this.#take(data, isBinary));
    socket.on('ping', (data) => {
      this.#passOver(data);
      // Each would wait in memory for a client that reads nothing; the latest is the one to answer (RFC 6455, section 5.5.3).
      if (!connection.writableNeedDrain) socket.pong(data);
    });
    socket.on('pong', (data) => this.#passOver(data));
  }

  /** Whether part of a frame is here, and nothing has followed since this was asked last. */
  hasStalled(): boolean {
    const isStill = this.#unfinished > 0 && this.#unfinished === this.#lookedAt && !this.#socket.isPaused;
    this.#lookedAt = this.#unfinished;
    return isStill;
  }

  /** Lets go of everything that has arrived. */
  stop(): void {
    this.#isOver = true;
    this.#reservation?.release();
    for (const { reservation } of this.#arrived.splice(0)) reservation.release();
  }

  /** A control frame may stand between the fragments of a frame, and belongs to none. */
  #passOver(data: Buffer): void {
    this.#unfinished = Math.max(0, this.#unfinished - controlHeader - data.length);
  }

  #count(bytes: number): void {
    this.#unfinished += bytes;
    if (this.#isOver || this.#unfinished <= smallFrame) return;
    try {
      if (this.#unfinished > this.#options.mostBytes()) throw tooLarge();
      this.#reserve(this.#unfinished);
    } catch (error) {
      this.#discard();
      this.#options.onRefused(error);
    }
  }

  /** What still comes flows on, and nobody looks at it: a client that is busy with sending would not read why it is refused. */
  #discard(): void {
    this.stop();
    this.#connection.removeAllListeners('data').on('data', () => undefined);
    this.#connection.resume();
  }

  #reserve(bytes: number): void {
    this.#reservation ??= this.#options.budget.open(this.#options.tenant);
    if (bytes <= this.#reserved) return;
    this.#reservation.grow(bytes - this.#reserved);
    this.#reserved = bytes;
  }

  #take(data: RawData, isBinary: boolean): void {
    if (this.#isOver) return;
    const received = data as Buffer<ArrayBuffer>; // the kind of data of a socket is left at its default
    try {
      if (received.length > this.#options.mostBytes()) throw tooLarge();
      this.#reserve(received.length);
    } catch (error) {
      this.#discard();
      this.#options.onRefused(error);
      return;
    }
    const reservation = this.#reservation ?? this.#options.budget.open(this.#options.tenant);
    this.#reservation = undefined;
    this.#reserved = 0;
    this.#unfinished = 0;
    this.#lookedAt = 0;
    this.#arrived.push({ bytes: isBinary ? undefined : ownBytes(received), reservation });
    if (!this.#isWorking) void this.#work();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    // Frames of the same chunk still come.
    this.#socket.pause();
    for (let frame = this.#arrived.shift(); frame; frame = this.#arrived.shift()) {
      await this.#options.onFrame(frame);
    }
    this.#isWorking = false;
    if (!this.#isOver) this.#socket.resume();
  }
}

/** A frame may be a part of what arrived at once, which nobody else may lose. */
function ownBytes(data: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  if (data.length === data.buffer.byteLength) return data;
  const own = Buffer.allocUnsafeSlow(data.length);
  data.copy(own);
  return own;
}

function tooLarge(): ServiceError {
  return new ServiceError('request_too_large', 'The frame is too large.');
}
