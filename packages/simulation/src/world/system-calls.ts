/** The memory of an instance, as bytes, as words, and for what is longer. */
export class StoreMemory {
  readonly #buffer: () => ArrayBuffer;
  #bytes = Buffer.alloc(0);
  #words = new Int32Array();
  #view = new DataView(new ArrayBuffer());

  constructor(buffer: () => ArrayBuffer) {
    this.#buffer = buffer;
  }

  get bytes(): Buffer {
    this.#look();
    return this.#bytes;
  }

  get words(): Int32Array {
    this.#look();
    return this.#words;
  }

  get view(): DataView {
    this.#look();
    return this.#view;
  }

  /** Views of a memory that has grown are empty. */
  #look(): void {
    if (this.#bytes.length > 0) return;
    const buffer = this.#buffer();
    this.#bytes = Buffer.from(buffer);
    this.#words = new Int32Array(buffer);
    this.#view = new DataView(buffer);
  }
}

/** A system without files and with one clock. */
export function systemCalls(memory: StoreMemory, nowNs: () => bigint) {
  const absent = () => noSuchFile;
  const unsupported = () => notSupported;
  return {
    environ_get: () => success,
    environ_sizes_get: (count: number, bytes: number) => {
      memory.bytes.writeUInt32LE(0, count);
      memory.bytes.writeUInt32LE(0, bytes);
      return success;
    },
    clock_time_get: (_clock: number, _precision: bigint, at: number) => {
      memory.view.setBigUint64(at, nowNs(), true);
      return success;
    },
    // Its log is dropped.
    fd_write: (_file: number, pieces: number, count: number, written: number) => {
      let length = 0;
      for (let at = 0; at < count; at += 1) length += memory.bytes.readUInt32LE(pieces + at * 8 + 4);
      memory.bytes.writeUInt32LE(length, written);
      return success;
    },
    fd_prestat_get: () => badFile,
    fd_prestat_dir_name: () => badFile,
    fd_close: () => success,
    fd_fdstat_get: (_file: number, at: number) => {
      memory.bytes.fill(0, at, at + 24);
      memory.bytes[at] = characterDevice;
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

const success = 0;
const badFile = 8;
const noSuchFile = 44;
const notSupported = 52;
const characterDevice = 2;
