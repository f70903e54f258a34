import { ServiceError } from '@sluice/contract';

/** Most bytes before the data of a client's frame (RFC 6455, section 5.2). */
const mostHeader = 14;

/** The least that a fragment counts against the limit of its message, in bytes, so that empty ones come to an end. */
const leastFragment = 512;

/** Room for a message that has begun, at first. */
const firstRoom = 1024;

/** Parts of the first two bytes of a frame. */
const [fin, reserved, opcodes] = [0x80, 0x70, 0x0f];
const [masked, lengths] = [0x80, 0x7f];
const [continuation, binary, close, lastControl] = [0x0, 0x2, 0x8, 0xa];
const mostControl = 125;

export interface FrameAssemblerOptions {
  /** Most bytes of a message, at this moment. */
  mostBytes: () => number;
  /** Takes so many bytes in all for the message that arrives, or throws. */
  reserve: (bytes: number) => void;
  /** Hands bytes on to the library: whole frames, and each message as one frame. */
  deliver: (bytes: Buffer) => void;
}

interface ArrivingFrame {
  opcode: number;
  isLast: boolean;
  length: number;
  read: number;
  mask: number;
}

/** The outcome of `read`. */
export type ReadFrame = 'nothing' | 'control' | 'close' | 'fragment' | 'message' | 'broken';

/**
 * Puts messages together before the library sees them. The library keeps each chunk and each fragment as an object of its
 * own, so that a message that is sent byte by byte would take hundreds of times its size. Here its bytes are copied into
 * one buffer, which grows with them.
 *
 * Frames that break the protocol are handed on as they are: the library says what is wrong with them.
 */
export class FrameAssembler {
  readonly #options: FrameAssemblerOptions;
  /** The header of a frame, and all of a control frame. */
  readonly #kept = Buffer.alloc(mostHeader + mostControl);
  #headerBytes = 0;
  /** The frame whose data arrives. */
  #frame: ArrivingFrame | undefined;
  /** The message that arrives, in more than one piece. */
  #message: { opcode: number; room: Buffer<ArrayBuffer>; length: number; weight: number } | undefined;

  constructor(options: FrameAssemblerOptions) {
    this.#options = options;
  }

  /** How much of an incomplete message or frame has arrived. It grows with each byte. */
  get unfinished(): number {
    return this.#headerBytes + (this.#frame?.read ?? 0) + (this.#message?.weight ?? 0);
  }

  /** Drops what has arrived of a message or frame that has not ended. Nothing can be read after that. */
  drop(): void {
    this.#message = undefined;
    this.#endFrame();
  }

  /**
   * Reads on to the end of a frame, or of the chunk. Returns what of the chunk is left, and what ended. Nothing can be read
   * after a broken frame.
   *
   * @throws {ServiceError} when the message is too large, or refused by `reserve`.
   */
  read(chunk: Buffer): { rest: Buffer; ended: ReadFrame } {
    let rest = chunk;
    if (!this.#frame) {
      rest = this.#readHeader(rest);
      const begun = this.#headerBytes >= 2 && this.#headerBytes === this.#headerLength();
      if (!begun) return { rest, ended: 'nothing' };
      if (this.#isBroken()) {
        if (this.#message) this.#options.deliver(emptyFragment(this.#message.opcode));
        this.#deliverKept(this.#headerBytes);
        return { rest: rest.subarray(rest.length), ended: 'broken' };
      }
      this.#frame = this.#beginFrame();
    }
    return this.#readData(rest, this.#frame);
  }

  #readHeader(chunk: Buffer): Buffer {
    let at = this.#keep(chunk, 0, 2);
    // The first two bytes say how many there are.
    if (this.#headerBytes >= 2) at = this.#keep(chunk, at, this.#headerLength());
    return at === 0 ? chunk : chunk.subarray(at);
  }

  /** Keeps bytes of a chunk until there are so many of the header. Returns where it stopped in the chunk. */
  #keep(chunk: Buffer, from: number, needed: number): number {
    let at = from;
    while (this.#headerBytes < needed && at < chunk.length) {
      this.#kept[this.#headerBytes] = chunk[at] ?? 0; // within the chunk
      this.#headerBytes += 1;
      at += 1;
    }
    return at;
  }

  #headerLength(): number {
    const [, second = 0] = this.#kept;
    const length = second & lengths;
    return 2 + (length === 127 ? 8 : length === 126 ? 2 : 0) + ((second & masked) === 0 ? 0 : 4);
  }

  #isBroken(): boolean {
    const [first = 0, second = 0] = this.#kept;
    const opcode = first & opcodes;
    if ((first & reserved) !== 0 || (second & masked) === 0) return true;
    if (opcode >= close) {
      return opcode > lastControl || (first & fin) === 0 || (second & lengths) > mostControl;
    }
    if (opcode === continuation) return !this.#message;
    return opcode > binary || this.#message !== undefined;
  }

  #beginFrame(): ArrivingFrame {
    const [first = 0, second = 0] = this.#kept;
    const short = second & lengths;
    const length =
      short === 127
        ? Number(this.#kept.readBigUInt64BE(2))
        : short === 126
          ? this.#kept.readUInt16BE(2)
          : short;
    const opcode = first & opcodes;
    const weight = (this.#message?.weight ?? 0) + length;
    if (opcode < close && weight > this.#options.mostBytes()) throw tooLarge();
    return {
      opcode,
      isLast: (first & fin) !== 0,
      length,
      read: 0,
      mask: this.#kept.readUInt32BE(this.#headerBytes - 4),
    };
  }

  #readData(chunk: Buffer, frame: ArrivingFrame): { rest: Buffer; ended: ReadFrame } {
    const data = chunk.subarray(0, frame.length - frame.read);
    const rest = chunk.subarray(data.length);
    const isMessage = frame.isLast && !this.#message && frame.read === 0 && data.length === frame.length;
    if (frame.opcode >= close) {
      frame.read += data.copy(this.#kept, this.#headerBytes + frame.read);
      if (frame.read < frame.length) return { rest, ended: 'nothing' };
      this.#deliverKept(this.#headerBytes + frame.length);
      return { rest, ended: frame.opcode === close ? 'close' : 'control' };
    }
    if (isMessage) {
      this.#deliverKept(this.#headerBytes);
      if (data.length > 0) this.#options.deliver(data);
      return { rest, ended: 'message' };
    }
    this.#append(data, frame);
    if (frame.read < frame.length) return { rest, ended: 'nothing' };
    this.#endFrame();
    if (this.#message) this.#message.weight += Math.max(0, leastFragment - frame.length);
    if (!frame.isLast) return { rest, ended: 'fragment' };
    this.#deliverMessage();
    return { rest, ended: 'message' };
  }

  /** Copies data to its message, without its mask: each fragment has another one. */
  #append(data: Buffer, frame: ArrivingFrame): void {
    const message = (this.#message ??= {
      opcode: frame.opcode,
      room: Buffer.allocUnsafeSlow(0),
      length: 0,
      weight: 0,
    });
    const needed = message.length + data.length;
    if (needed > message.room.length) {
      // A frame that is a message by itself gets a buffer of its length at last, which can be transferred.
      const most = frame.isLast ? message.length - frame.read + frame.length : this.#options.mostBytes();
      const bytes = Math.max(needed, Math.min(most, Math.max(firstRoom, 2 * message.room.length)));
      this.#options.reserve(bytes);
      const room = Buffer.allocUnsafeSlow(bytes);
      message.room.copy(room, 0, 0, message.length);
      message.room = room;
    }
    data.copy(message.room, message.length);
    unmask(message.room, message.length, needed, frame);
    message.length = needed;
    message.weight += data.length;
    frame.read += data.length;
  }

  /** Hands on what is kept of the frame, which ends it. */
  #deliverKept(length: number): void {
    this.#options.deliver(Buffer.from(this.#kept.subarray(0, length)));
    this.#endFrame();
  }

  #endFrame(): void {
    this.#frame = undefined;
    this.#headerBytes = 0;
  }

  #deliverMessage(): void {
    const message = this.#message;
    if (!message) return;
    this.#message = undefined;
    const header = Buffer.alloc(mostHeader); // with a mask of zeros
    header[0] = fin | message.opcode;
    header[1] = masked | 127;
    header.writeBigUInt64BE(BigInt(message.length), 2);
    this.#options.deliver(header);
    if (message.length > 0) this.#options.deliver(message.room.subarray(0, message.length));
  }
}

/** The beginning of a message, so that the library knows that there is one. */
function emptyFragment(opcode: number): Buffer {
  return Buffer.from([opcode, masked, 0, 0, 0, 0]);
}

function unmask(
  bytes: Buffer,
  from: number,
  to: number,
  { mask, read }: { mask: number; read: number },
): void {
  if (mask === 0) return;
  const parts = [mask >>> 24, (mask >>> 16) & 0xff, (mask >>> 8) & 0xff, mask & 0xff] as const;
  for (let at = from; at < to; at += 1) bytes[at] = (bytes[at] ?? 0) ^ (parts[(read + at - from) & 3] ?? 0);
}

function tooLarge(): ServiceError {
  return new ServiceError('request_too_large', 'The frame is too large.');
}
