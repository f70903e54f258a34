import type { SimulatedService } from '../service/simulated-service.ts';
import type { SimulatedProcess } from '../world/simulated-process.ts';
import type { FaultPlan } from './scenario.ts';

/** How long a connection that falls silent, or loses what it gets, takes to be cut when nobody else does it, in milliseconds. */
const silentForMs = 6_000;

/** Makes the faults of a scenario happen. Returns when the last of them is over, in milliseconds of the world. */
export function injectFaults(service: SimulatedService, faults: readonly FaultPlan[]): number {
  const { world, network } = service;
  /** What waits for a number of messages of a process. */
  const waiting = new Map<SimulatedProcess, { messages: number; happen: () => void }[]>();
  network.onMessage = (process) => {
    const ofProcess = waiting.get(process);
    if (!ofProcess) return;
    for (const each of ofProcess) each.messages -= 1;
    const due = ofProcess.filter(({ messages }) => messages < 0);
    waiting.set(
      process,
      ofProcess.filter(({ messages }) => messages >= 0),
    );
    for (const { happen } of due) happen();
  };
  const afterMessages = (process: SimulatedProcess, messages: number, happen: () => void) => {
    waiting.set(process, [...(waiting.get(process) ?? []), { messages, happen }]);
  };
  let overMs = 0;
  for (const fault of faults) {
    overMs = Math.max(overMs, fault.atMs + durationOf(fault));
    world.after(fault.atMs, undefined, () => {
      if (fault.kind === 'freeze') {
        world.note('store', `stands still for ${fault.forMs} ms`);
        network.freeze(fault.forMs);
        return;
      }
      const process = service.processNamed(fault.process);
      if (!process || process.isDead) return;
      begin(service, process, fault, afterMessages);
    });
  }
  return overMs;
}

function begin(
  service: SimulatedService,
  process: SimulatedProcess,
  fault: Exclude<FaultPlan, { kind: 'freeze' }>,
  afterMessages: (process: SimulatedProcess, messages: number, happen: () => void) => void,
): void {
  const { world, network } = service;
  switch (fault.kind) {
    case 'kill':
      afterMessages(process, fault.messages, () => service.kill(fault.process, fault.downMs));
      return;
    case 'pause':
      world.note(process.name, `stands still for ${fault.forMs} ms`);
      process.pausedUntilMs = world.elapsedMs + fault.forMs;
      return;
    case 'clock':
      world.note(process.name, `has its clock set by ${fault.byMs} ms`);
      process.clockErrorMs += fault.byMs;
      return;
    default: {
      const connections = network.connectionsOf(process);
      const connection = connections[fault.connection % Math.max(connections.length, 1)];
      if (!connection) return;
      afterMessages(process, fault.messages, () => {
        world.note(process.name, `${fault.kind} on connection ${connection.number}`);
        if (fault.kind === 'cut') network.cut(connection);
        else connection.loses = fault.kind === 'silence' ? 'everything' : 'replies';
        world.after(silentForMs, undefined, () => network.cut(connection));
      });
    }
  }
}

function durationOf(fault: FaultPlan): number {
  switch (fault.kind) {
    case 'kill':
      return fault.downMs;
    case 'pause':
    case 'freeze':
      return fault.forMs;
    default:
      return silentForMs;
  }
}
