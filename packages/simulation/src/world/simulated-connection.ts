import { Duplex } from 'node:stream';
import type { SimulatedProcess } from './simulated-process.ts';

/** What a connection does on its way to the store. */
interface Way {
  isOpen: () => void;
  sent: (bytes: Buffer) => void;
  closed: () => void;
  cut: () => void;
}

/** A connection of a process to the store, as the process has it. */
export class SimulatedConnection extends Duplex {
  readonly process: SimulatedProcess;
  number = -1;
  bytesRead = 0;
  connecting = true;
  /** When the last bytes of each direction arrive, which later ones do not overtake. */
  lastSentMs = 0;
  lastGotMs = 0;
  /** The messages that no longer arrive. */
  loses: 'nothing' | 'replies' | 'everything' = 'nothing';
  /** Whether the other side learns of nothing any more, not even of its end. */
  isSilent = false;
  /** Messages that have arrived while the store waits for its replica, which it does for one connection alone. */
  unread: Buffer[] = [];
  isWaiting = false;
  readonly #way: Way;

  constructor(process: SimulatedProcess, way: Way) {
    super({ allowHalfOpen: false });
    this.process = process;
    this.#way = way;
    process.after(0, () => way.isOpen());
  }

  opened(): void {
    if (this.destroyed) return;
    this.connecting = false;
    this.emit('connect');
  }

  /** Breaks it: both sides learn of it, and what is on its way is lost. */
  cut(): void {
    this.#way.cut();
  }

  got(bytes: Buffer): void {
    this.bytesRead += bytes.length;
    this.push(bytes);
  }

  /** The other side has closed it. */
  ended(): void {
    this.push(null);
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#way.sent(chunk);
    done();
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.#way.sent(Buffer.concat(chunks.map(({ chunk }) => chunk)));
    done();
  }

  override _final(done: () => void): void {
    this.#way.closed();
    done();
    // The other side answers the end of a connection with its own.
    this.process.after(0, () => this.ended());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#way.closed();
    done(error);
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  /** ioredis gives up with it what takes too long to connect. */
  setTimeout(ms: number, onTimeout?: () => void): this {
    if (ms > 0 && onTimeout) {
      this.process.after(ms, () => {
        if (!this.destroyed && this.connecting) onTimeout();
      });
    }
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}
