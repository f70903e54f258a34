import { createRequire, syncBuiltinESMExports } from 'node:module';
import { ListenedSignals } from './listened-signals.ts';
import type { Random } from './random.ts';
import { simulatedTimers } from './simulated-timers.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { Inhabitant, World } from './world.ts';
import { diskFolder, type SimulatedDisk } from './simulated-disk.ts';
import type { Connect } from './simulated-network.ts';

/*
 * Replaces every source of time, of chance and of input that Node has by that of the process whose step it is. Nothing
 * changes for code that runs outside of a world.
 *
 * Import it before the modules of the service, which take some of these when they are loaded. A source that is not listed
 * here is not simulated: `docs/simulation.md` says which those are.
 */

const require = createRequire(import.meta.url);

/** The world whose processes run now. There is one at a time in a thread. */
let world: World | undefined;
let connect: Connect | undefined;
let disk: SimulatedDisk | undefined;

/** Lets the processes of a world run from here on. */
export function enterWorld(entered: World, connectIn: Connect, diskIn: SimulatedDisk): void {
  world = entered;
  connect = connectIn;
  disk = diskIn;
}

/** Ends it: what runs from here on belongs to no world. */
export function leaveWorld(): void {
  world = undefined;
  connect = undefined;
  disk = undefined;
  signals.forget();
}

const signals = new ListenedSignals();

const current = () => world?.current;

/**
 * The process whose time and chance count; undefined outside of a world. Whatever asks for them in a world is a process of it: a history in which the real
 * ones had a part could not be had again.
 */
function asking(): Inhabitant | undefined {
  if (world && !world.current) throw new Error('Time or chance was asked for in a world by no process of it');
  return world?.current;
}

function replaceTime(): void {
  const { faked, promised } = simulatedTimers(current);
  Object.assign(globalThis, faked);
  Object.assign(require('node:timers') as object, faked);
  Object.assign(require('node:timers/promises') as object, promised);
  const RealDate = Date;
  globalThis.Date = new Proxy(RealDate, {
    construct(target, args: [], newTarget) {
      const process = args.length === 0 ? asking() : undefined;
      return Reflect.construct(target, process ? [process.dateMs] : args, newTarget) as Date;
    },
  });
  const realNow = RealDate.now.bind(RealDate);
  RealDate.now = () => asking()?.dateMs ?? realNow();
  const realRunning = performance.now.bind(performance);
  performance.now = () => asking()?.runningMs ?? realRunning();
  const realTimeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => {
    if (!current()) return realTimeout(ms);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new DOMException('The operation timed out', 'TimeoutError')), ms);
    return controller.signal;
  };
}

function followSignals(): void {
  const realAny = AbortSignal.any.bind(AbortSignal);
  AbortSignal.any = (followed) => {
    const signal = realAny(followed);
    if (current()) signals.follow(signal);
    return signal;
  };
}

function replaceChance(): void {
  const realRandom = Math.random.bind(Math);
  Math.random = () => asking()?.random.fraction() ?? realRandom();
  const crypto = require('node:crypto') as typeof import('node:crypto');
  const { randomBytes, randomFillSync, randomUUID, randomInt, webcrypto } = crypto;
  const fill = <Bytes extends NodeJS.ArrayBufferView>(random: Random, bytes: Bytes): Bytes => {
    random.fillBytes(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return bytes;
  };
  const uuid = (random: Random) => {
    const hex = fill(random, Buffer.alloc(16)).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  };
  const or =
    <Args extends unknown[], Result>(
      real: (...args: Args) => Result,
      simulated: (random: Random, ...args: Args) => Result,
    ) =>
    (...args: Args): Result => {
      const random = asking()?.random;
      return random ? simulated(random, ...args) : real(...args);
    };
  // Each has overloads with a callback, which nobody in the service uses.
  Object.assign(crypto, {
    randomBytes: or(randomBytes as (size: number) => Buffer, (random, size) =>
      fill(random, Buffer.alloc(size)),
    ),
    randomFillSync: or(randomFillSync as (bytes: Buffer) => Buffer, (random, bytes) => fill(random, bytes)),
    randomUUID: or(randomUUID as () => string, uuid),
    randomInt: or(randomInt as (least: number, most?: number) => number, (random, least, most) =>
      most === undefined ? random.between(0, least - 1) : random.between(least, most - 1),
    ),
  });
  const realValues = webcrypto.getRandomValues.bind(webcrypto) as (bytes: Buffer) => Buffer;
  const realUuid = webcrypto.randomUUID.bind(webcrypto);
  Object.assign(webcrypto, { getRandomValues: or(realValues, fill), randomUUID: or(realUuid, uuid) });
}

function replaceInput(): void {
  const net = require('node:net') as typeof import('node:net');
  const realConnect = net.connect as (...args: unknown[]) => unknown;
  const connectAnywhere = (...args: unknown[]) => {
    const process = current();
    // Each process of a world is a `SimulatedProcess`.
    if (!process || !connect) return realConnect(...args);
    const [{ host }] = args as [{ host: string }]; // as the service connects
    return connect(process as SimulatedProcess, host);
  };
  Object.assign(net, { connect: connectAnywhere, createConnection: connectAnywhere });
  const threads = require('node:worker_threads') as typeof import('node:worker_threads');
  const RealWorker = threads.Worker;
  Object.assign(threads, {
    Worker: new Proxy(RealWorker, {
      construct(target, args, newTarget) {
        if (current()) throw new Error(`A simulated process has no threads: ${String(args[0])}`);
        return Reflect.construct(target, args, newTarget) as object;
      },
    }),
  });
  // What a process measures of itself is that of the machine it runs on.
  const hooks = require('node:perf_hooks') as typeof import('node:perf_hooks');
  const still = { enable: () => true, disable: () => true, reset: () => undefined, percentile: () => 0 };
  Object.assign(hooks, {
    monitorEventLoopDelay: () => ({ ...still, min: 0, max: 0, mean: 0, stddev: 0 }),
    PerformanceObserver: class {
      observe(): void {}
      disconnect(): void {}
    },
  });
  const realMemory = process.memoryUsage;
  const memory = () => (current() ? { ...noMemory } : realMemory());
  process.memoryUsage = Object.assign(memory, { rss: () => (current() ? noMemory.rss : realMemory.rss()) });
  const { pid } = process;
  Object.defineProperty(process, 'pid', { get: () => (current() ? 1 : pid) });
  const os = require('node:os') as typeof import('node:os');
  const realHost = os.hostname;
  os.hostname = () => (current() ? 'simulated' : realHost());
  const realCpu = process.cpuUsage.bind(process);
  process.cpuUsage = (before) => (current() ? { user: 0, system: 0 } : realCpu(before));
}

/** Every inhabitant of a world is a `SimulatedProcess`. */
function replaceFiles(): void {
  const onDisk = (path: unknown) => {
    const process = current();
    const isInside = typeof path === 'string' && path.startsWith(diskFolder);
    return process && disk && isInside ? { disk, path, process: process as SimulatedProcess } : undefined;
  };
  type Call = (...args: unknown[]) => unknown;
  const files = require('node:fs') as Record<'createReadStream' | 'createWriteStream', Call>;
  const { createReadStream, createWriteStream } = files;
  files.createReadStream = (...args) => {
    const found = onDisk(args[0]);
    return found ? found.disk.read(found.process, found.path) : createReadStream(...args);
  };
  files.createWriteStream = (...args) => {
    const found = onDisk(args[0]);
    return found ? found.disk.write(found.process, found.path) : createWriteStream(...args);
  };
  const promises = require('node:fs/promises') as Record<string, Call>;
  for (const name of promisesOfDisk) {
    const real = promises[name];
    promises[name] = (...args) => {
      const found = onDisk(args[0]);
      if (!found) return real?.(...args);
      const call = found.disk.promisesOf(found.process)[name] as Call;
      return call(...args);
    };
  }
}

/** All that the service asks of a disk. */
const promisesOfDisk = 'access copyFile link mkdir open readdir readFile rename rm stat writeFile'.split(' ');

const noMemory = { rss: 1e8, heapTotal: 1e8, heapUsed: 5e7, external: 1e6, arrayBuffers: 1e5 };

replaceTime();
followSignals();
replaceChance();
replaceInput();
replaceFiles();
syncBuiltinESMExports();
