import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import type { BodyBudget, BodyReservation } from '../bodies/body-budget.ts';
import { FrameAssembler } from './frame-assembler.ts';

/** Frames of a connection that are read in one turn of the event loop, so that others have their turn. */
const framesPerTurn = 16;

/**
 * A message may come in some fragments. Past so many the connection rests after each turn, in milliseconds: a client that sends its
 * messages byte by byte may wait, and others are not to wait for it.
 */
const manyFragments = { perMessage: 64, restMs: 4 };

/** Control frames that a client may send at once, and each second from then on. None needs more than one in several seconds. */
const controlFrames = { atOnce: 64, perSecond: 4 };

/**
 * A message may come in a few chunks of fewer bytes than these. Past that the connection rests behind each of them, in milliseconds,
 * so that the next ones gather: a read takes 64 KiB for a moment, however little there is.
 */
const smallChunks = { bytes: 512, perMessage: 8, restMs: 50 };

/** A frame that has arrived. Its reader releases its bytes. */
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
  /** The client sends control frames without end. Nothing more of the connection is read. */
  onFlood: () => void;
}

/**
 * Reads the frames of one connection, one after the other. A frame counts against the memory of the process while it
 * arrives, as the body of a request does, and reading stops while a frame is handled. In one turn of the event loop a
 * connection has one message, or a few other frames.
 *
 * It stands between the connection and the library, which sees whole messages alone (`FrameAssembler`).
 */
export class FrameIntake {
  readonly #socket: WebSocket;
  readonly #connection: Duplex;
  readonly #options: FrameIntakeOptions;
  readonly #assembler: FrameAssembler;
  /** Bytes that were read from the connection and wait for their turn. */
  #waiting: Buffer[] = [];
  #reservation: BodyReservation | undefined;
  /** How many bytes of the message that arrives are reserved. */
  #reserved = 0;
  #state: 'reads' | 'waits' | 'works' | 'over' = 'reads';
  /** Chunks of few bytes since the last whole message. */
  #smallChunks = 0;
  /** Fragments of the message that arrives. */
  #fragments = 0;
  #controlFrames = controlFrames.atOnce;
  #controlledAt = performance.now();
  /** How much of a frame had arrived when `hasStalled` was last asked. */
  #lookedAt = 0;

  constructor(socket: WebSocket, connection: Duplex, options: FrameIntakeOptions) {
    this.#socket = socket;
    this.#connection = connection;
    this.#options = options;
    // A connection that is paused reads on up to this, and keeps each chunk as an object of its own, however few bytes it has.
    (connection as Duplex & { _readableState: { highWaterMark: number } })._readableState.highWaterMark = 1;
    const toLibrary = connection.listeners('data');
    connection.removeAllListeners('data').on('data', (chunk: Buffer) => this.#arrive(chunk));
    this.#assembler = new FrameAssembler({
      mostBytes: options.mostBytes,
      reserve: (bytes) => this.#reserve(bytes),
      deliver: (bytes) => {
        for (const listener of toLibrary) listener.call(connection, bytes);
      },
    });
    socket.on('message', (data, isBinary) => this.#take(data, isBinary));
    socket.on('ping', (data) => {
      // Each would wait in memory for a client that reads nothing; the latest is the one to answer (RFC 6455, section 5.5.3).
      if (!connection.writableNeedDrain) socket.pong(data);
    });
  }

  /** How many bytes are here of a message that has not ended. */
  get unfinished(): number {
    return this.#assembler.unfinished;
  }

  /** Whether part of a frame is here, and nothing has followed since this was asked last. */
  hasStalled(): boolean {
    const { unfinished } = this;
    const isStill = this.#state === 'reads' && unfinished > 0 && unfinished === this.#lookedAt;
    this.#lookedAt = unfinished;
    return isStill;
  }

  /** Drops everything that has arrived. The library may keep the connection for half a minute after that. */
  stop(): void {
    this.#state = 'over';
    this.#waiting = [];
    this.#assembler.drop();
    this.#reservation?.release();
  }

  #arrive(chunk: Buffer): void {
    if (this.#state === 'over') return;
    this.#waiting.push(chunk);
    if (chunk.length < smallChunks.bytes) this.#smallChunks += 1;
    if (this.#state === 'reads') this.#read();
    // The library lets the connection flow when it is done with something large.
    else this.#connection.pause();
  }

  /** Reads what waits, and lets the connection go on when nothing does. */
  #read(): void {
    this.#state = 'reads';
    if (this.#connection.readableEnded) return this.stop();
    for (let frames = 0; this.#waiting.length > 0; ) {
      if (frames >= framesPerTurn) return this.#wait();
      if (this.#readFrame()) frames += 1;
      if (this.#state !== 'reads') return;
    }
    if (this.#assembler.unfinished === 0) this.#smallChunks = 0;
    if (this.#smallChunks > smallChunks.perMessage) this.#rest();
    else if (this.#connection.isPaused()) this.#connection.resume();
  }

  /** Goes on in the next turn of the event loop, or a while later in a message of many fragments. */
  #wait(): void {
    this.#pause();
    if (this.#fragments > manyFragments.perMessage) setTimeout(() => this.#goOn(), manyFragments.restMs);
    else setImmediate(() => this.#goOn());
  }

  #rest(): void {
    this.#pause();
    // Bytes that were read already come first, without being asked for.
    this.#smallChunks -= 2;
    setTimeout(() => this.#goOn(), smallChunks.restMs);
  }

  #pause(): void {
    this.#state = 'waits';
    this.#connection.pause();
  }

  #goOn(): void {
    if (this.#state === 'waits') this.#read();
  }

  /** Whether a frame has ended. The library has told of it meanwhile, which may have changed the state. */
  #readFrame(): boolean {
    const chunk = this.#waiting.shift();
    if (!chunk) return false;
    try {
      const { rest, ended } = this.#assembler.read(chunk);
      if (ended === 'broken' || ended === 'close') this.stop();
      else if (ended === 'control') this.#countControl();
      else if (ended === 'fragment') this.#fragments += 1;
      else if (ended === 'message') this.#fragments = 0;
      if (rest.length > 0 && !this.#isOver) this.#waiting.unshift(rest);
      return ended !== 'nothing';
    } catch (error) {
      this.#refuse(error);
      return false;
    }
  }

  get #isOver(): boolean {
    return this.#state === 'over';
  }

  #countControl(): void {
    const now = performance.now();
    const earned = ((now - this.#controlledAt) / 1000) * controlFrames.perSecond;
    this.#controlFrames = Math.min(controlFrames.atOnce, this.#controlFrames + earned) - 1;
    this.#controlledAt = now;
    if (this.#controlFrames >= 0 || this.#isOver) return;
    this.stop();
    this.#options.onFlood();
  }

  /** Lets the rest flow on unread: a client that is still sending would not read why it is refused. */
  #refuse(error: unknown): void {
    this.stop();
    this.#connection.resume();
    this.#options.onRefused(error);
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
      this.#reserve(received.length);
    } catch (error) {
      this.#refuse(error);
      return;
    }
    const reservation = this.#reservation ?? this.#options.budget.open(this.#options.tenant);
    this.#reservation = undefined;
    this.#reserved = 0;
    this.#lookedAt = 0;
    void this.#work({ bytes: isBinary ? undefined : ownBytes(received), reservation });
  }

  async #work(frame: ReceivedFrame): Promise<void> {
    this.#state = 'works';
    this.#socket.pause();
    await this.#options.onFrame(frame);
    if (this.#isOver) return;
    this.#socket.resume();
    if (this.#waiting.length > 0) this.#wait();
    else this.#read();
  }
}

/** A frame may be a part of what arrived at once, which nobody else may lose. */
function ownBytes(data: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  if (data.length === data.buffer.byteLength) return data;
  const own = Buffer.allocUnsafeSlow(data.length);
  data.copy(own);
  return own;
}
