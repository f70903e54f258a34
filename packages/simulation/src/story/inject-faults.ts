import type { SimulatedService } from '../service/simulated-service.ts';
import type { SimulatedProcess } from '../world/simulated-process.ts';
import type { FaultPlan, ProcessFault, StoreFault } from './scenario.ts';

/** How long a connection stays that gets nothing any more, when its process does not leave it before, in milliseconds. */
const silentForMs = 6_000;

interface Armed {
  process: SimulatedProcess;
  messages: number;
  happen: () => void;
}

/** Makes the faults of a scenario happen. */
export class Faults {
  readonly #service: SimulatedService;
  /** Those that wait for a number of messages of a process. */
  #armed: Armed[] = [];
  #overMs: number;

  constructor(service: SimulatedService, faults: readonly FaultPlan[]) {
    this.#service = service;
    const { world, network } = service;
    this.#overMs = world.elapsedMs;
    network.onMessage = (process) => this.#count(process);
    for (const fault of faults) {
      this.#lasts(fault.atMs);
      world.after(fault.atMs, undefined, () => this.#begin(fault));
    }
  }

  /** When the last of those that have begun is over, in milliseconds of the world. */
  get overMs(): number {
    return this.#overMs;
  }

  /** Lets none begin that still waits for messages. */
  disarm(): void {
    this.#armed = [];
  }

  #begin(fault: FaultPlan): void {
    const { world } = this.#service;
    if (!('process' in fault)) {
      world.note('store', `${fault.kind} for ${fault.forMs} ms`);
      this.#lasts(fault.forMs);
      return this.#harmStore(fault);
    }
    const process = this.#service.processNamed(fault.process);
    if (!process || process.isDead) return;
    switch (fault.kind) {
      case 'kill':
        this.#arm(process, fault.messages, () => {
          this.#service.kill(fault.process, fault.downMs);
          this.#lasts(fault.downMs);
        });
        return;
      case 'pause':
        world.note(process.name, `stands still for ${fault.forMs} ms`);
        process.pause(fault.forMs);
        this.#lasts(fault.forMs);
        return;
      case 'clock':
        world.note(process.name, `has its clock set by ${fault.byMs} ms`);
        process.clockErrorMs += fault.byMs;
        return;
      default:
        this.#arm(process, fault.messages, () => this.#breakConnection(process, fault));
    }
  }

  #harmStore({ kind, forMs }: StoreFault): void {
    const { world, network } = this.#service;
    if (kind === 'freeze') return network.freeze(forMs);
    const harm = kind === 'full' ? ['CONFIG', 'SET', 'maxmemory', '1'] : ['REPLICAOF', '127.0.0.1', '1'];
    const mend = kind === 'full' ? ['CONFIG', 'SET', 'maxmemory', '0'] : ['REPLICAOF', 'NO', 'ONE'];
    network.ask(...harm);
    world.after(forMs, undefined, () => network.ask(...mend));
  }

  #breakConnection(
    process: SimulatedProcess,
    { kind, connection: at }: Extract<ProcessFault, { connection: number }>,
  ): void {
    const { world, network } = this.#service;
    const connections = network.connectionsOf(process);
    const connection = connections[at % Math.max(connections.length, 1)];
    if (!connection) return;
    world.note(process.name, `${kind} on connection ${connection.number}`);
    if (kind === 'cut') return network.cut(connection);
    connection.loses = kind === 'silence' ? 'everything' : 'replies';
    this.#lasts(silentForMs);
    world.after(silentForMs, undefined, () => network.cut(connection));
  }

  #arm(process: SimulatedProcess, messages: number, happen: () => void): void {
    this.#armed.push({ process, messages, happen });
  }

  #count(process: SimulatedProcess): void {
    if (this.#armed.length === 0) return;
    for (const each of this.#armed) if (each.process === process) each.messages -= 1;
    const due = this.#armed.filter(({ messages }) => messages < 0);
    if (due.length === 0) return;
    this.#armed = this.#armed.filter(({ messages }) => messages >= 0);
    for (const { happen } of due) happen();
  }

  #lasts(ms: number): void {
    this.#overMs = Math.max(this.#overMs, this.#service.world.elapsedMs + ms);
  }
}
