import type { Socket } from 'node:net';
import { asCommand, commandsIn, printed, waitIn } from './messages.ts';
import { SimulatedConnection } from './simulated-connection.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import { parseReply, type Reply } from './parse-reply.ts';
import { SimulatedStore, type StoreSnapshot } from './simulated-store.ts';
import type { World } from './world.ts';

/** Opens a connection of a process to the store at a host. */
export type Connect = (process: SimulatedProcess, host: string) => Socket;

/** How long bytes are on their way typically, one way, in milliseconds. */
const typicalLatencyMs = 0.15;

/** The same while the network is slow. */
const slowLatencyMs = 30;

/** How long the store keeps its side of a connection that is silent after the process has left its own, in milliseconds. */
const halfOpenMs = 20_000;

/** How often a store looks at its own timeouts, in milliseconds. */
const storeLooksEveryMs = 50;

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
  #slowUntilMs = 0;
  /** Until then nothing reaches the replica. */
  #lagsUntilMs = 0;
  /** How often the store was started. */
  #starts = 1;
  /** Called before each message that a process sends or gets. It may kill the process, or cut the connection. */
  onMessage: (connection: SimulatedConnection, direction: 'sent' | 'got') => void = () => undefined;

  /** Called with each answer of the store, and whether it is lost on its way. */
  onAnswer: (bytes: Buffer, isLost: boolean) => void = () => undefined;

  constructor(world: World) {
    this.#world = world;
    this.#store = new SimulatedStore({ nowNs: () => world.nowNs });
    const look = () => {
      this.#stepStore();
      world.plainlyAfter(storeLooksEveryMs, look);
    };
    world.plainlyAfter(storeLooksEveryMs, look);
  }

  readonly connect = (process: SimulatedProcess): Socket => {
    const connection = new SimulatedConnection(process, {
      isOpen: () => this.#accept(connection),
      sent: (bytes) => this.#send(connection, bytes),
      closed: () => this.#hangUp(connection),
      cut: () => this.#cut(connection),
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
    this.#world.plainlyAfter(forMs, () => this.#stepStore());
  }

  slowDown(forMs: number): void {
    this.#slowUntilMs = Math.max(this.#slowUntilMs, this.#world.elapsedMs + forMs);
  }

  lag(forMs: number): void {
    this.#lagsUntilMs = Math.max(this.#lagsUntilMs, this.#world.elapsedMs + forMs);
  }

  /** Copies what the store has. */
  snapshot(): StoreSnapshot {
    return this.#store.snapshot();
  }

  /** The store starts again with what it had then: it forgets all that came after, and its scripts. */
  restore(snapshot: StoreSnapshot): void {
    this.#starts += 1;
    for (const connection of this.#open.values()) this.#cut(connection);
    this.#store.restore(snapshot);
    this.ask('SCRIPT', 'FLUSH');
  }

  #cut(connection: SimulatedConnection): void {
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
    const written = this.#takeStep();
    this.#store.hangUp(number);
    return parseReply(written.get(number) ?? Buffer.alloc(0));
  }

  #accept(connection: SimulatedConnection): void {
    connection.number = this.#store.connect();
    this.#open.set(connection.number, connection);
    connection.process.after(this.#latency(), () => connection.opened());
  }

  #send(connection: SimulatedConnection, bytes: Buffer): void {
    const arrivesAt = Math.max(connection.lastSentMs, this.#world.elapsedMs + this.#latency());
    connection.lastSentMs = arrivesAt;
    // The network carries what a process has sent, also when it is dead by then.
    // By its moment: a while would be rounded, and one of two chunks with the same moment could overtake the other.
    this.#world.plainlyAt(arrivesAt, () => {
      connection.unread.push(...commandsIn(bytes));
      this.#read(connection);
    });
  }

  #read(connection: SimulatedConnection): void {
    const { process, unread } = connection;
    while (!connection.isWaiting && unread.length > 0) {
      if (!this.#isOpen(connection) || connection.loses === 'everything') break;
      this.onMessage(connection, 'sent');
      const [message] = unread.splice(0, 1);
      if (!message || !this.#isOpen(connection)) break;
      this.#world.note(process.name, `> ${this.#world.isLogged ? printed(message) : ''}`, message);
      const waitMs = waitIn(message);
      if (waitMs === undefined) this.#store.receive(connection.number, message);
      else this.#waitForReplica(connection, waitMs);
    }
    this.#stepStore();
  }

  /** Answers a `WAIT`, which the embedded store knows nothing of, as a primary with one replica does. */
  #waitForReplica(connection: SimulatedConnection, mostMs: number): void {
    const { elapsedMs } = this.#world;
    const begunMs = Math.max(elapsedMs, this.#frozenUntilMs);
    const thereMs = Math.max(begunMs, this.#lagsUntilMs) + this.#latency();
    const isThere = thereMs <= begunMs + mostMs;
    connection.isWaiting = true;
    this.#world.plainlyAfter((isThere ? thereMs : begunMs + mostMs) - elapsedMs, () => {
      connection.isWaiting = false;
      if (!this.#isOpen(connection)) return;
      this.#answer(connection.number, Buffer.from(isThere ? ':1\r\n' : ':0\r\n'));
      this.#read(connection);
    });
  }

  #answer(number: number, bytes: Buffer): void {
    const connection = this.#open.get(number);
    if (!connection) return;
    const { process } = connection;
    const arrivesAt = Math.max(connection.lastGotMs, this.#world.elapsedMs + this.#latency());
    connection.lastGotMs = arrivesAt;
    this.#world.at(arrivesAt, process, () => {
      this.onMessage(connection, 'got');
      const isLost = process.isDead || connection.destroyed || connection.loses !== 'nothing';
      this.onAnswer(bytes, isLost);
      if (isLost) return;
      this.#world.note(process.name, `< ${this.#world.isLogged ? printed(bytes) : ''}`, bytes);
      connection.got(bytes);
    });
  }

  #hangUp(connection: SimulatedConnection): void {
    if (!this.#isOpen(connection)) return;
    const { number, isSilent } = connection;
    this.#open.delete(number);
    if (!isSilent) return this.#store.hangUp(number);
    // Nobody tells the store, which has its side until its own checks give up, or it is started again.
    const starts = this.#starts;
    this.#world.plainlyAfter(halfOpenMs, () => {
      if (this.#starts === starts) this.#store.hangUp(number);
    });
  }

  #isOpen(connection: SimulatedConnection): boolean {
    return this.#open.get(connection.number) === connection;
  }

  #stepStore(): void {
    if (this.#world.elapsedMs < this.#frozenUntilMs) return;
    this.#takeStep();
  }

  /** Has the store do what there is to do, and carries its answers to their processes. Returns them, by connection. */
  #takeStep(): Map<number, Buffer> {
    const { written, closed } = this.#store.step();
    for (const [number, bytes] of written) this.#answer(number, bytes);
    for (const number of closed) {
      const connection = this.#open.get(number);
      if (!connection) continue;
      this.#open.delete(number);
      connection.process.after(this.#latency(), () => connection.ended());
    }
    return written;
  }

  #latency(): number {
    const isSlow = this.#world.elapsedMs < this.#slowUntilMs;
    return this.#world.random.skewed(isSlow ? slowLatencyMs : typicalLatencyMs);
  }
}
