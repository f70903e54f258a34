import { SimulatedProcess } from '../world/simulated-process.ts';
import { SimulatedDisk } from '../world/simulated-disk.ts';
import { SimulatedNetwork } from '../world/simulated-network.ts';
import type { CellChange } from '../story/scenario.ts';
import type { World } from '../world/world.ts';
import { enterWorld } from '../world/replace-builtins.ts';
import { type Release, thisRelease } from './releases.ts';
import type { ApiRole } from './simulated-api.ts';
import { keysOf, models } from './names.ts';
import { drainMs, hostOf, serviceSettings } from './service-settings.ts';
import type { ProvidersOf, SendEvent, WorkerRole } from './simulated-worker.ts';

export interface ServiceOptions {
  apis: number;
  workers: number;
  keepsRecords: boolean;
  isReplicated: boolean;
  /** How many cells the store has; 1 by default. */
  cells?: number;
  /** The change of the second one while they run. */
  cellChange?: CellChange | undefined;
  hasCrowd?: boolean | undefined;
  /** Whether the second worker serves the narrow model, and the first one the other. */
  hasPools?: boolean | undefined;
  hasWebhooks?: boolean | undefined;
  /** Whether tenants may have batches. */
  hasBatches?: boolean | undefined;
  providersOf: ProvidersOf;
  /** How a process sends events to endpoints. */
  sendOf: (process: SimulatedProcess) => SendEvent;
  /** The release of each second api and worker; that of the others by default. */
  otherRelease: Release | undefined;
}

/** An api that takes requests. */
export interface ReadyApi {
  process: SimulatedProcess;
  parts: NonNullable<ApiRole['parts']>;
  asServiceError: ApiRole['asServiceError'];
  /** The name of its release. */
  release: string;
}

/** Whether a process runs suspects for a worker: `worker-0.1` is the first of `worker-0`. */
export function isOfSuspects(name: string): boolean {
  return name.includes('.');
}

/** The service in a world: apis, workers and their store. A process that was killed is started again under its name. */
export class SimulatedService {
  readonly world: World;
  /** What lies before the store of each cell. */
  readonly networks: readonly SimulatedNetwork[];
  /** The disk of the files, which every api has. */
  readonly disk = new SimulatedDisk();
  /** The keys in each cell. */
  readonly keys: ReturnType<typeof keysOf>;
  readonly #options: ServiceOptions;
  readonly #apis: ApiRole[];
  readonly #workers: WorkerRole[];

  constructor(world: World, options: ServiceOptions) {
    this.world = world;
    this.#options = options;
    const { cells = 1, cellChange } = options;
    this.keys = keysOf(cells, cellChange !== undefined);
    this.networks = Array.from({ length: cells }, () => new SimulatedNetwork(world));
    const byHost = new Map(this.networks.map((network, at) => [hostOf(at), network]));
    const connect = (process: SimulatedProcess, host: string) => {
      const network = byHost.get(host);
      if (!network) throw new Error(`There is no store at ${host}`);
      return network.connect(process);
    };
    enterWorld(world, connect, this.disk);
    this.#apis = Array.from({ length: options.apis }, (_, at) => this.#startApi(`api-${at}`));
    this.#workers = Array.from({ length: options.workers }, (_, at) => this.#startWorker(`worker-${at}`));
  }

  /** The apis that take requests. Load balancers notice at once that one stops. */
  get apis(): ReadyApi[] {
    return this.#apis.flatMap(({ process, parts, isStopping, asServiceError }) => {
      const release = this.#releaseOf(process.name).name;
      return parts && !process.isDead && !isStopping ? { process, parts, asServiceError, release } : [];
    });
  }

  /** Whether every process runs. */
  get isWhole(): boolean {
    return (
      this.apis.length === this.#apis.length &&
      this.#workers.every(({ process, isReady, isStopping }) => isReady && !isStopping && !process.isDead)
    );
  }

  processNamed(name: string): SimulatedProcess | undefined {
    const role = [...this.#apis, ...this.#workers].find(({ process }) => process.name === name);
    return role?.process;
  }

  /** Kills a process and starts it again later, unless it is one of suspects. */
  kill(process: SimulatedProcess, downMs: number): void {
    if (process.isDead) return;
    const { name } = process;
    this.world.note(name, 'is KILLED');
    process.kill();
    if (!isOfSuspects(name)) this.world.after(downMs, undefined, () => this.#restart(name));
  }

  /** Tells a process to stop, as SIGTERM does, and starts it again when it has. */
  stop(process: SimulatedProcess, downMs: number): void {
    const role = [...this.#apis, ...this.#workers].find((each) => each.process === process);
    if (!role || role.isStopping || process.isDead) return;
    role.isStopping = true;
    this.world.note(process.name, 'is told to STOP');
    const end = () => this.kill(process, downMs);
    process.after(0, () => void role.stop().then(end, (error: unknown) => this.world.crashed(error)));
    process.after(drainMs, end);
  }

  #restart(name: string): void {
    this.world.note(name, 'is started again');
    const at = Number(name.split('-')[1]);
    if (name.startsWith('api')) this.#apis[at] = this.#startApi(name);
    else this.#workers[at] = this.#startWorker(name);
  }

  #startApi(name: string): ApiRole {
    const process = new SimulatedProcess(this.world, name);
    return this.#releaseOf(name).startApi(process, serviceSettings('api', this.#options));
  }

  #startWorker(name: string): WorkerRole {
    const { providersOf, sendOf, hasPools = false } = this.#options;
    const model = name.endsWith('-1') ? models.narrow : models.wide;
    const settings = serviceSettings('worker', { ...this.#options, ...(hasPools && { model }) });
    const process = new SimulatedProcess(this.world, name);
    return this.#releaseOf(name).startWorker(process, { settings, providersOf, sendEvent: sendOf(process) });
  }

  #releaseOf(name: string): Release {
    const { otherRelease } = this.#options;
    return otherRelease && name.endsWith('-1') ? otherRelease : thisRelease;
  }
}
