import { drainMs } from '../service/service-settings.ts';
import { isOfSuspects, type SimulatedService } from '../service/simulated-service.ts';
import type { SimulatedConnection } from '../world/simulated-connection.ts';
import type { SimulatedNetwork } from '../world/simulated-network.ts';
import type { SimulatedProcess } from '../world/simulated-process.ts';
import type { FaultPlan, ProcessFault, Scenario, StoreFault } from './scenario.ts';

/** How long a process may take to leave a connection that is silent, in milliseconds. */
const noticedWithinMs = 30_000;

/** How often the lease of the rescue is taken away from whoever has it, in milliseconds. */
const usurpEveryMs = 300;

/** Each release has a lease of its own. */
const takeLeases =
  "for _, key in ipairs(redis.call('KEYS', KEYS[1])) do redis.pcall('DEL', key) end return 1";

interface Armed {
  isMeant: (process: SimulatedProcess) => boolean;
  messages: number;
  /** Whether it happens to a reply. */
  isOfReply?: boolean;
  happen: (connection: SimulatedConnection) => void;
}

/** A time whose writes the store has lost, in milliseconds of the world. */
export interface Loss {
  /** The cell whose store has lost them. */
  cell: number;
  fromMs: number;
  toMs: number;
  /** Whether nobody has been told of what is lost, because a replica has what anybody was told of. */
  sparesTold: boolean;
}

/** Makes the faults of a scenario happen. */
export class Faults {
  readonly #service: SimulatedService;
  /** Those that wait for a number of messages of a process. */
  #armed: Armed[] = [];
  readonly #silent: { connection: SimulatedConnection; untilMs: number }[] = [];
  readonly losses: Loss[] = [];
  readonly #forgetting = new Set<number>();
  #overMs: number;
  readonly #isReplicated: boolean;

  constructor(service: SimulatedService, { faults, isReplicated = false }: Scenario) {
    this.#service = service;
    this.#isReplicated = isReplicated;
    const { world, networks } = service;
    this.#overMs = world.elapsedMs;
    for (const network of networks)
      network.onMessage = (connection, direction) => this.#count(connection, direction === 'got');
    for (const fault of faults) {
      this.#lasts(fault.atMs);
      world.after(fault.atMs, undefined, () => this.#begin(fault));
    }
  }

  /** When the last of those that have begun is over, in milliseconds of the world. */
  get overMs(): number {
    const { elapsedMs } = this.#service.world;
    for (const { connection, untilMs } of this.#silent) {
      if (!connection.destroyed && !connection.process.isDead) this.#lasts(Math.min(untilMs - elapsedMs, 0));
    }
    return this.#overMs;
  }

  /** Lets none begin that still waits for messages. */
  disarm(): void {
    this.#armed = [];
  }

  #begin(fault: FaultPlan): void {
    const { world } = this.#service;
    if (fault.kind === 'full disk') {
      world.note('disk', `full for ${fault.forMs} ms`);
      this.#lasts(fault.forMs);
      this.#service.disk.fullUntilMs = world.nowMs + fault.forMs;
      return;
    }
    if (!('process' in fault)) {
      world.note('store', `${fault.kind} for ${fault.forMs} ms`);
      this.#lasts(fault.forMs);
      return this.#harmStore(fault);
    }
    const process = this.#service.processNamed(fault.process);
    const isMeant = isOfSuspects(fault.process)
      ? ({ name }: SimulatedProcess) => name === fault.process
      : (other: SimulatedProcess) => other === process;
    if (fault.kind === 'kill') {
      const happen = (connection: SimulatedConnection) => {
        this.#service.kill(connection.process, fault.downMs);
        this.#lasts(fault.downMs);
      };
      this.#armed.push({ isMeant, messages: fault.messages, happen });
      return;
    }
    if (!process || process.isDead) return;
    switch (fault.kind) {
      case 'pause':
        world.note(process.name, `stands still for ${fault.forMs} ms`);
        process.pause(fault.forMs);
        this.#lasts(fault.forMs);
        return;
      case 'stop':
        this.#service.stop(process, fault.downMs);
        this.#lasts(drainMs + fault.downMs);
        return;
      case 'clock':
        world.note(process.name, `has its clock set by ${fault.byMs} ms`);
        process.clockErrorMs += fault.byMs;
        return;
      case 'lose a reply': {
        const happen = (connection: SimulatedConnection) => {
          world.note(process.name, `loses a reply on connection ${connection.number}`);
          connection.cut();
        };
        this.#armed.push({ isMeant, messages: fault.messages, isOfReply: true, happen });
        return;
      }
      default: {
        const happen = () => this.#breakConnection(process, fault);
        this.#armed.push({ isMeant, messages: fault.messages, happen });
      }
    }
  }

  #harmStore({ kind, forMs, cell = 0 }: StoreFault): void {
    const { world } = this.#service;
    const network = this.#networkOf(cell);
    switch (kind) {
      case 'freeze':
        return network.freeze(forMs);
      case 'slow':
        return network.slowDown(forMs);
      case 'lag':
        return network.lag(forMs);
      case 'forget':
        return this.#forget(forMs, cell);
      case 'empty':
        this.#mendStore(network);
        network.ask('FLUSHALL');
        this.losses.push({ cell: this.#at(cell), fromMs: 0, toMs: world.elapsedMs, sparesTold: false });
        return;
      case 'two rescuers':
        return this.#usurp(world.elapsedMs + forMs, cell);
      case 'full':
        network.ask('CONFIG', 'SET', 'maxmemory', '1');
        break;
      case 'replica':
        network.ask('REPLICAOF', '127.0.0.1', '1');
    }
    world.plainlyAfter(forMs, () => this.#mendStore(network));
  }

  /** A shorter scenario may have fewer cells. */
  #at(cell: number): number {
    return cell % this.#service.networks.length;
  }

  #networkOf(cell: number): SimulatedNetwork {
    const network = this.#service.networks[this.#at(cell)];
    if (!network) throw new Error(`There is no cell ${cell}`);
    return network;
  }

  #mendStore(network: SimulatedNetwork): void {
    network.ask('CONFIG', 'SET', 'maxmemory', '0');
    network.ask('REPLICAOF', 'NO', 'ONE');
  }

  /** One loss begins after the other is over, since forgotten writes cannot come back. */
  #forget(forMs: number, ofCell: number): void {
    const cell = this.#at(ofCell);
    if (this.#forgetting.has(cell)) return;
    this.#forgetting.add(cell);
    const { world } = this.#service;
    const network = this.#networkOf(cell);
    const fromMs = world.elapsedMs;
    // What is lost is what the replica did not have.
    const snapshot = network.snapshot();
    network.lag(forMs);
    world.after(forMs, undefined, () => {
      world.note('store', 'comes back as it was');
      this.#forgetting.delete(cell);
      network.restore(snapshot);
      this.#mendStore(network);
      this.losses.push({ cell, fromMs, toMs: world.elapsedMs, sparesTold: this.#isReplicated });
    });
  }

  #usurp(untilMs: number, cell: number): void {
    const { world, keys } = this.#service;
    // A store that takes no writes keeps it.
    const { prefix } = keys.inCell(this.#at(cell));
    this.#networkOf(cell).ask('EVAL', takeLeases, '1', `${prefix}rescuer:*`);
    if (world.elapsedMs < untilMs) world.plainlyAfter(usurpEveryMs, () => this.#usurp(untilMs, cell));
  }

  #breakConnection(
    process: SimulatedProcess,
    { kind, connection: at }: Extract<ProcessFault, { connection: number }>,
  ): void {
    const { world, networks } = this.#service;
    const connections = networks.flatMap((network) => network.connectionsOf(process));
    const connection = connections[at % Math.max(connections.length, 1)];
    if (!connection) return;
    world.note(process.name, `${kind} on connection ${connection.number}`);
    if (kind === 'cut') return connection.cut();
    connection.isSilent = kind === 'silence';
    connection.loses = connection.isSilent ? 'everything' : 'replies';
    this.#silent.push({ connection, untilMs: world.elapsedMs + noticedWithinMs });
  }

  #count(connection: SimulatedConnection, isReply: boolean): void {
    if (this.#armed.length === 0) return;
    for (const each of this.#armed) if (each.isMeant(connection.process)) each.messages -= 1;
    const due = this.#armed.filter(
      ({ messages, isOfReply = false, isMeant }) =>
        messages < 0 && (isReply || !isOfReply) && isMeant(connection.process),
    );
    if (due.length === 0) return;
    this.#armed = this.#armed.filter((each) => !due.includes(each));
    for (const { happen } of due) happen(connection);
  }

  #lasts(ms: number): void {
    this.#overMs = Math.max(this.#overMs, this.#service.world.elapsedMs + ms);
  }
}
