import { constants } from 'node:os';
import { posix } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { callbackify } from 'node:util';
import type { SimulatedProcess } from './simulated-process.ts';

/** The folder of a world in which its disk is. Every other path is one of the machine. */
export const diskFolder = '/simulated-disk';

/** How long an act takes to reach the disk, and its answer to come back, in milliseconds. */
const latencyMs = 0.2;

/** How much of a file is read at once. */
const chunkBytes = 64 * 1024;

/** The content of a file, which may have several names. */
interface Content {
  bytes: Buffer;
  mtimeMs: number;
}

interface Options {
  recursive?: boolean;
  force?: boolean;
}

/**
 * The disk that all processes of a world share, as far as the service uses one. Each act takes a while, in which a process may die: before it has
 * happened, or before anybody is told that it has. What was written stays when a process dies, as it does in the cache of a machine that lives.
 */
export class SimulatedDisk {
  readonly #files = new Map<string, Content>();
  readonly #folders = new Set([diskFolder]);
  /** Until then there is no room for anything new, in milliseconds since 1970. */
  fullUntilMs = 0;

  /** Every file there is, by its path. */
  get paths(): string[] {
    return [...this.#files.keys()];
  }

  /** The functions that a process has in place of those of `node:fs/promises`. */
  promisesOf(process: SimulatedProcess): Readonly<Record<string, (...args: never[]) => Promise<unknown>>> {
    const now = () => process.world.nowMs;
    const act =
      <Args extends unknown[]>(name: string, run: (path: string, ...args: Args) => unknown) =>
      (path: string, ...args: Args) =>
        happening(process, `${name} ${path}`, () => run(path, ...args));
    return {
      access: act('access', (path) => void this.#stat(path)),
      copyFile: act('copyFile', (from, to: string) => this.#create(to, this.#fileAt(from).bytes, now())),
      link: act('link', (from, to: string) => {
        this.#checkFree(to);
        this.#files.set(to, this.#fileAt(from));
      }),
      mkdir: act('mkdir', (path) => this.#mkdir(path)),
      open: act('open', (path, flags: string) => this.#open(process, path, flags)),
      readdir: act('readdir', (path) => this.#readdir(path)),
      readFile: act('readFile', (path) => this.#fileAt(path).bytes.toString()),
      rename: act('rename', (from, to: string) => {
        this.#checkParent(to);
        this.#files.set(to, this.#fileAt(from));
        this.#files.delete(from);
      }),
      rm: act('rm', (path, options?: Options) => this.#remove(path, options)),
      stat: act('stat', (path) => this.#stat(path)),
      writeFile: act('writeFile', (path, text: string) => {
        this.#checkParent(path);
        this.#checkRoom(now());
        this.#files.set(path, { bytes: Buffer.from(text), mtimeMs: now() });
      }),
    };
  }

  /** A reader that has begun reads on when the file goes. */
  read(process: SimulatedProcess, path: string): Readable {
    return Readable.from(this.#chunks(process, path));
  }

  async *#chunks(process: SimulatedProcess, path: string, opened?: Content): AsyncGenerator<Buffer> {
    const file = opened ?? (await happening(process, `read ${path}`, () => this.#fileAt(path)));
    for (let at = 0; ; at += chunkBytes) {
      const chunk = await happening(process, `read ${path} from ${at}`, () =>
        Buffer.from(file.bytes.subarray(at, at + chunkBytes)),
      );
      if (chunk.length > 0) yield chunk;
      if (chunk.length < chunkBytes) return;
    }
  }

  /** Writes a new file, and says how much of it, as the writers of Node do. */
  write(process: SimulatedProcess, path: string): Writable & { bytesWritten: number } {
    const create = () => this.#create(path, Buffer.alloc(0), process.world.nowMs);
    const append = (chunk: Buffer) => {
      this.#append(this.#fileAt(path), chunk, process.world.nowMs);
      writer.bytesWritten += chunk.length;
    };
    const stream = new Writable({
      construct: callbackify(() => happening(process, `write ${path}`, create)),
      write: (chunk: Buffer, _encoding, done) =>
        callbackify(() => happening(process, `write ${path}`, () => append(chunk)))(done),
    });
    const writer = Object.assign(stream, { bytesWritten: 0 });
    return writer;
  }

  #open(process: SimulatedProcess, path: string, flags: string): object {
    if (flags === 'wx') this.#create(path, Buffer.alloc(0), process.world.nowMs);
    const file = this.#folders.has(path) ? undefined : this.#fileAt(path);
    const nothing = (name: string) => () => happening(process, `${name} ${path}`, () => undefined);
    return {
      // In two parts, of which a process that dies, or a disk that becomes full, has the first alone.
      appendFile: async (bytes: Uint8Array) => {
        const middle = process.random.between(0, bytes.length);
        for (const part of [bytes.subarray(0, middle), bytes.subarray(middle)]) {
          await happening(process, `append ${path}`, () => {
            if (file) this.#append(file, part, process.world.nowMs);
          });
        }
      },
      createReadStream: () => Readable.from(this.#chunks(process, path, file)),
      sync: nothing('sync'),
      datasync: nothing('datasync'),
      close: nothing('close'),
    };
  }

  #append(file: Content, bytes: Uint8Array, mtimeMs: number): void {
    this.#checkRoom(mtimeMs);
    file.bytes = Buffer.concat([file.bytes, bytes]);
    file.mtimeMs = mtimeMs;
  }

  #create(path: string, bytes: Buffer, mtimeMs: number): void {
    this.#checkFree(path);
    this.#checkRoom(mtimeMs);
    this.#files.set(path, { bytes, mtimeMs });
  }

  #mkdir(path: string): void {
    for (let each = path; each.startsWith(diskFolder); each = posix.dirname(each)) this.#folders.add(each);
  }

  #readdir(path: string): string[] {
    if (!this.#folders.has(path)) throw failure('ENOENT', path);
    const inside = [...this.#files.keys(), ...this.#folders].filter((each) => posix.dirname(each) === path);
    return inside.map((each) => posix.basename(each)).toSorted();
  }

  #remove(path: string, { recursive = false, force = false }: Options = {}): void {
    if (this.#files.delete(path)) return;
    if (!this.#folders.has(path)) {
      if (force) return;
      throw failure('ENOENT', path);
    }
    if (!recursive) throw failure('EISDIR', path);
    const isInside = (each: string) => each === path || each.startsWith(`${path}/`);
    for (const each of this.#files.keys()) if (isInside(each)) this.#files.delete(each);
    for (const each of this.#folders) if (isInside(each)) this.#folders.delete(each);
  }

  #stat(path: string): { mtimeMs: number; size: number } {
    if (this.#folders.has(path)) {
      const changes = [...this.#files].flatMap(([each, file]) =>
        posix.dirname(each) === path ? [file.mtimeMs] : [],
      );
      return { mtimeMs: Math.max(0, ...changes), size: 0 };
    }
    const { mtimeMs, bytes } = this.#fileAt(path);
    return { mtimeMs, size: bytes.length };
  }

  #fileAt(path: string): Content {
    const file = this.#files.get(path);
    if (!file) throw failure(this.#folders.has(path) ? 'EISDIR' : 'ENOENT', path);
    return file;
  }

  #checkFree(path: string): void {
    this.#checkParent(path);
    if (this.#files.has(path) || this.#folders.has(path)) throw failure('EEXIST', path);
  }

  #checkRoom(nowMs: number): void {
    if (nowMs < this.fullUntilMs) throw failure('ENOSPC', 'write');
  }

  #checkParent(path: string): void {
    if (!this.#folders.has(posix.dirname(path))) throw failure('ENOENT', path);
  }
}

/** Lets something happen on the disk after a while, and its process know another while later. */
async function happening<Result>(
  process: SimulatedProcess,
  what: string,
  run: () => Result,
): Promise<Result> {
  await wait(process);
  process.world.note(process.name, `on the disk: ${what}`);
  const result = run();
  await wait(process);
  return result;
}

function wait(process: SimulatedProcess): Promise<void> {
  return new Promise((resolve) => void process.after(process.random.skewed(latencyMs), resolve));
}

function failure(code: keyof typeof constants.errno, path: string): Error {
  return Object.assign(new Error(`${code}: '${path}'`), { code, errno: -constants.errno[code] });
}
