import { EventEmitter } from 'node:events';
import type { Settings } from '@sluice/config';
import type { Provider } from '@sluice/providers';
import { createLogger } from '@sluice/runtime';
import { type IsolatedChild, runSuspects, type ToIsolated, WorkerProcess } from '@sluice/worker';
import { SimulatedProcess } from '../world/simulated-process.ts';

export interface WorkerRole {
  process: SimulatedProcess;
  isReady: boolean;
  isStopping: boolean;
  /** Ends what it does, as SIGTERM has it do. */
  stop: () => Promise<void>;
}

/** Makes the upstreams of a process. Each process has its own, as it would have its own connections. */
export type ProvidersOf = (process: SimulatedProcess) => ReadonlyMap<string, Provider>;

/** Sends an event to the endpoint of a tenant. */
export type SendEvent = NonNullable<ConstructorParameters<typeof WorkerProcess>[0]['sendEvent']>;

/** Starts a worker in its process, as `main.ts` of the worker does. */
export function startWorker(
  process: SimulatedProcess,
  {
    settings,
    providersOf,
    sendEvent,
  }: { settings: Settings & { redisUrl: string }; providersOf: ProvidersOf; sendEvent: SendEvent },
): WorkerRole {
  const role: WorkerRole = { process, isReady: false, isStopping: false, stop: () => Promise.resolve() };
  let forked = 0;
  process.after(0, () => {
    const worker = new WorkerProcess({
      settings,
      providers: providersOf(process),
      sendEvent,
      logger: processLogger(process),
      onReady: () => {
        role.isReady = true;
        role.stop = () => worker.stop('terminated');
      },
      forkIsolated: () => {
        const child = new SimulatedProcess(process.world, `${process.name}.${(forked += 1)}`);
        return forkSuspects(child, process, providersOf);
      },
    });
    const stopItself = (error?: unknown) => process.world.crashed(error ?? new Error('the worker stops'));
    worker.start(new AbortController().signal, stopItself).catch(stopItself);
  });
  return role;
}

/** How long a process takes to be there, and a message from one to another, in milliseconds. */
const forkMs = 300;
const messageMs = 0.1;

/** A process of suspects and the channel to it. It dies with its worker. */
function forkSuspects(
  child: SimulatedProcess,
  parent: SimulatedProcess,
  providersOf: ProvidersOf,
): IsolatedChild {
  const toParent = new EventEmitter();
  const toChild = new EventEmitter();
  const handle = Object.assign(toParent, {
    connected: true,
    send: (message: ToIsolated) => {
      const copy = structuredClone(message);
      child.after(messageMs, () => toChild.emit('message', copy));
      return true;
    },
    disconnect: () => {
      handle.connected = false;
      child.after(messageMs, () => toChild.emit('disconnect'));
    },
    kill: () => {
      child.kill();
      return true;
    },
  });
  parent.onDeath(() => child.kill());
  child.onDeath(() => {
    parent.after(messageMs, () => {
      handle.connected = false;
      toParent.emit('exit', null, 'SIGKILL');
    });
  });
  const waiting: ToIsolated[] = [];
  toChild.on('message', (message: ToIsolated) => waiting.push(message));
  child.after(forkMs, () => {
    const done = runSuspects({
      send: (message) => {
        const copy = structuredClone(message);
        parent.after(messageMs, () => toParent.emit('message', copy));
      },
      onMessage: (listener) => {
        toChild.removeAllListeners('message');
        toChild.on('message', listener);
        for (const message of waiting) listener(message);
      },
      onDisconnect: (listener) => toChild.once('disconnect', listener),
      providersOf: () => providersOf(child),
    });
    // It exits when it has nothing left to do, and when it fails, which it never should.
    const exit = (error?: unknown) => {
      if (error !== undefined) child.world.crashed(error);
      child.kill();
    };
    done.then(() => exit(), exit);
  });
  // It has what `IsolatedRuns` uses of a process.
  return handle as unknown as IsolatedChild;
}

/** Tells the world what a process logs. */
export function processLogger(process: SimulatedProcess) {
  const { world } = process;
  return createLogger({
    name: process.name.startsWith('api') ? 'api' : 'worker',
    level: world.isLogged ? 'info' : 'warn',
    destination: {
      write: (line) => {
        world.onLogged(line);
        world.remark(process.name, line.trimEnd());
      },
    },
  });
}
