import { Readable, type Writable } from 'node:stream';

/** How long a reader may take nothing of what it is sent before its connection is closed, in milliseconds. */
export const defaultStalledMs = 30_000;

/**
 * The most that is written to a reader at once, in bytes. A reader that takes less than this in the time above counts as one
 * that takes nothing. With a larger piece, a slow reader would give no sign of life until it has taken all of it.
 */
const sliceBytes = 64 * 1024;

/** Whether a text goes out in slices. Any that could fit into one is written as it is. */
export function isSliced(body: string | Buffer): boolean {
  return body.length > sliceBytes;
}

/** The slices of a body, in order and without copies. */
export function* slicesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += sliceBytes) yield body.subarray(at, at + sliceBytes);
}

/** How many slices of all readers are written in one turn of the event loop: a megabyte takes it about a millisecond. */
const slicesInTurn = 16;

/**
 * Lets the slices of all readers of a process out in the order in which they are ready, a few in each turn of the event loop.
 * A few hundred readers who take all they are sent would keep every other request waiting otherwise.
 */
export class SliceTurns {
  readonly #waiting: (() => unknown)[] = [];

  /** Calls back when it is the turn of another slice. */
  take(write: () => unknown): void {
    this.#waiting.push(write);
    if (this.#waiting.length === 1) setImmediate(() => this.#next());
  }

  #next(): void {
    // Readers that are ready again by now come behind the others.
    const turn = this.#waiting.slice(0, slicesInTurn);
    for (const write of turn) write();
    this.#waiting.splice(0, turn.length);
    if (this.#waiting.length > 0) setImmediate(() => this.#next());
  }
}

/** A body that a reader is sent slice by slice, each once the one before it is taken. Its pieces are not copied. */
export class SlicedBody extends Readable {
  /** Called at each slice. */
  onTaken: () => void = () => undefined;
  /** Set before the first slice is asked for. */
  turns = new SliceTurns();
  /** Undefined while nobody knows. */
  readonly byteLength: number | undefined;
  /** Bytes that it holds for its reader alone, and that nobody has counted yet. */
  readonly ownBytes: number;
  readonly #slices: Generator<Buffer>;

  /** A body that is there as a whole. Any number of readers may share its bytes. */
  static of(bytes: Buffer): SlicedBody {
    return new SlicedBody({ byteLength: bytes.length, pieces: [bytes] });
  }

  /** Pieces may be made when they are wanted, so their length is told if it is known. */
  constructor({
    byteLength,
    ownBytes = 0,
    pieces,
  }: {
    byteLength?: number | undefined;
    ownBytes?: number;
    pieces: Iterable<Buffer>;
  }) {
    super({ highWaterMark: 1 });
    this.byteLength = byteLength;
    this.ownBytes = ownBytes;
    this.#slices = slicesOfAll(pieces);
  }

  override _read(): void {
    this.onTaken();
    const { value, done } = this.#slices.next();
    if (done === true) this.push(null);
    else this.turns.take(() => !this.destroyed && this.push(value));
  }
}

function* slicesOfAll(pieces: Iterable<Buffer>): Generator<Buffer> {
  for (const piece of pieces) yield* slicesOf(piece);
}

/**
 * Resolves when a connection takes more. Rejects with the reason of the signal when its reader is gone, and once it has taken
 * nothing for too long, after `onStalled`, which is to abort the signal.
 */
export function drained(
  connection: Writable,
  { signal, stalledMs, onStalled }: { signal: AbortSignal; stalledMs: number; onStalled: () => void },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      clearTimeout(timer);
      clearImmediate(asked);
      connection.off('drain', onDrain);
      signal.removeEventListener('abort', onGone);
      act();
    };
    const onDrain = () => settle(resolve);
    const onGone = () => settle(() => reject(signal.reason));
    // After the next look at the sockets: a process that stood still has not heard yet what its readers took.
    const timer = setTimeout(() => (asked = setImmediate(onStalled)), stalledMs);
    let asked: NodeJS.Immediate | undefined;
    connection.once('drain', onDrain);
    signal.addEventListener('abort', onGone, { once: true });
    if (signal.aborted) onGone();
  });
}
