import { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import type { SimulatedProcess } from './simulated-process.ts';
import { parseReply, type Reply } from './parse-reply.ts';
import { SimulatedStore } from './simulated-store.ts';
import type { World } from './world.ts';

/** Opens a connection of a process to the store. */
export type Connect = (process: SimulatedProcess) => Socket;

/** How long bytes are on their way typically, one way, in milliseconds. */
const typicalLatencyMs = 0.15;

/** How often a store looks at its own timeouts, in milliseconds. */
const storeLooksEveryMs = 25;

/**
 * What lies between the processes and their store. It decides whose bytes arrive next: each chunk takes a while of its own,
 * and only those of one connection stay in order.
 */
export class SimulatedNetwork {
  readonly #world: World;
  #store: SimulatedStore;
  readonly #open = new Map<number, SimulatedConnection>();
  /** While the store is frozen it reads nothing. */
  #frozenUntilMs = 0;
  /** Called before each message that a process sends or gets. It may kill the process. */
  onMessage: (process: SimulatedProcess, direction: 'sent' | 'got') => void = () => undefined;

  /** Called with each answer of the store, and whether it is lost on its way. */
  onAnswer: (bytes: Buffer, isLost: boolean) => void = () => undefined;

  constructor(world: World) {
    this.#world = world;
    this.#store = new SimulatedStore({ nowNs: () => world.nowNs });
    const look = () => {
      this.#stepStore();
      world.after(storeLooksEveryMs, undefined, look);
    };
    world.after(storeLooksEveryMs, undefined, look);
  }

  readonly connect: Connect = (process) => {
    const connection = new SimulatedConnection(process, {
      isOpen: () => this.#accept(connection),
      sent: (bytes) => this.#send(connection, bytes),
      closed: () => this.#hangUp(connection),
    });
    process.onDeath(() => this.#hangUp(connection));
    // It has what the service and ioredis use of a socket.
    return connection as unknown as Socket;
  };

  /** The connections of a process that stand. */
  connectionsOf(process: SimulatedProcess): SimulatedConnection[] {
    return [...this.#open.values()].filter((connection) => connection.process === process);
  }

  freeze(forMs: number): void {
    const { elapsedMs } = this.#world;
    this.#frozenUntilMs = Math.max(this.#frozenUntilMs, elapsedMs + forMs);
    this.#world.after(forMs, undefined, () => this.#stepStore());
  }

  /** Breaks a connection: both sides learn of it, and what is on its way is lost. */
  cut(connection: SimulatedConnection): void {
    connection.loses = 'everything';
    this.#hangUp(connection);
    connection.process.after(this.#latency(), () =>
      connection.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })),
    );
  }

  /** Asks the store something on behalf of the world itself, which no fault concerns. */
  ask(...args: string[]): Reply {
    const number = this.#store.connect();
    this.#store.receive(number, asCommand(args));
    const { written } = this.#store.step();
    this.#store.hangUp(number);
    let reply = Buffer.alloc(0);
    for (const [to, bytes] of written) {
      if (to === number) reply = Buffer.concat([reply, bytes]);
      else this.#answer(to, bytes);
    }
    return parseReply(reply);
  }

  #accept(connection: SimulatedConnection): void {
    connection.number = this.#store.connect();
    this.#open.set(connection.number, connection);
    connection.process.after(this.#latency(), () => connection.opened());
  }

  #send(connection: SimulatedConnection, bytes: Buffer): void {
    const { process } = connection;
    for (const message of commandsIn(bytes)) {
      const arrivesAt = Math.max(connection.lastSentMs, this.#world.elapsedMs + this.#latency());
      connection.lastSentMs = arrivesAt;
      // The network carries what a process has sent, also when it is dead by then.
      this.#world.after(arrivesAt - this.#world.elapsedMs, undefined, () => {
        if (!this.#isOpen(connection) || connection.loses === 'everything') return;
        this.onMessage(process, 'sent');
        if (!this.#isOpen(connection)) return;
        this.#world.note(process.name, `> ${this.#world.isLogged ? printed(message) : ''}`, message);
        this.#store.receive(connection.number, message);
        this.#stepStore();
      });
    }
  }

  #answer(number: number, bytes: Buffer): void {
    const connection = this.#open.get(number);
    if (!connection) return;
    const { process } = connection;
    const arrivesAt = Math.max(connection.lastGotMs, this.#world.elapsedMs + this.#latency());
    connection.lastGotMs = arrivesAt;
    this.#world.after(arrivesAt - this.#world.elapsedMs, process, () => {
      const isLost = connection.destroyed || connection.loses !== 'nothing';
      this.onAnswer(bytes, isLost);
      if (isLost) return;
      this.onMessage(process, 'got');
      if (process.isDead) return;
      this.#world.note(process.name, `< ${this.#world.isLogged ? printed(bytes) : ''}`, bytes);
      connection.got(bytes);
    });
  }

  #hangUp(connection: SimulatedConnection): void {
    if (!this.#isOpen(connection)) return;
    this.#open.delete(connection.number);
    this.#store.hangUp(connection.number);
  }

  #isOpen(connection: SimulatedConnection): boolean {
    return this.#open.get(connection.number) === connection;
  }

  #stepStore(): void {
    if (this.#world.elapsedMs < this.#frozenUntilMs) return;
    const { written, closed } = this.#store.step();
    for (const [number, bytes] of written) this.#answer(number, bytes);
    for (const number of closed) {
      const connection = this.#open.get(number);
      if (!connection) continue;
      this.#open.delete(number);
      connection.process.after(this.#latency(), () => connection.ended());
    }
  }

  #latency(): number {
    return this.#world.random.skewed(typicalLatencyMs);
  }
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
  /** What no longer arrives. */
  loses: 'nothing' | 'replies' | 'everything' = 'nothing';
  readonly #way: { isOpen: () => void; sent: (bytes: Buffer) => void; closed: () => void };

  constructor(
    process: SimulatedProcess,
    way: { isOpen: () => void; sent: (bytes: Buffer) => void; closed: () => void },
  ) {
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

/** A command in the protocol of Redis. */
function asCommand(args: readonly string[]): Buffer {
  const parts = args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`);
  return Buffer.from(`*${args.length}\r\n${parts.join('')}`);
}

/** Splits what was written at once into its commands: a process may die between two of them. */
function commandsIn(bytes: Buffer): Buffer[] {
  const commands: Buffer[] = [];
  let from = 0;
  let at = 0;
  while (at < bytes.length) {
    if (bytes[at] !== asterisk) return [...commands, bytes.subarray(from)];
    let line = bytes.indexOf('\r\n', at);
    if (line === -1) break;
    let left = Number(bytes.toString('latin1', at + 1, line));
    at = line + 2;
    for (; left > 0; left -= 1) {
      line = bytes.indexOf('\r\n', at);
      if (line === -1) return [...commands, bytes.subarray(from)];
      at = line + 2 + Number(bytes.toString('latin1', at + 1, line)) + 2;
    }
    // One that is not whole goes with the bytes that follow.
    if (at > bytes.length) break;
    commands.push(bytes.subarray(from, at));
    from = at;
  }
  return from < bytes.length ? [...commands, bytes.subarray(from)] : commands;
}

const asterisk = 0x2a;

/** The beginning of a message, for the log. */
function printed(bytes: Buffer): string {
  return bytes
    .toString('latin1', 0, 400)
    .replaceAll(/[*$]\d+\r\n/g, '')
    .replaceAll('\r\n', ' ')
    .replaceAll(/[^\x20-\x7e]+/g, '.')
    .slice(0, 160);
}
