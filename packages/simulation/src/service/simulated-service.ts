import { SimulatedProcess } from '../world/simulated-process.ts';
import { SimulatedNetwork } from '../world/simulated-network.ts';
import type { World } from '../world/world.ts';
import { enterWorld } from '../world/replace-builtins.ts';
import { type ApiRole, startApi } from './simulated-api.ts';
import { drainMs, serviceSettings } from './service-settings.ts';
import { type ProvidersOf, startWorker, type WorkerRole } from './simulated-worker.ts';

export interface ServiceOptions {
  apis: number;
  workers: number;
  keepsRecords: boolean;
  isReplicated: boolean;
  providersOf: ProvidersOf;
}

/** Whether a process runs suspects for a worker: `worker-0.1` is the first of `worker-0`. */
export function isOfSuspects(name: string): boolean {
  return name.includes('.');
}

/** The service in a world: apis, workers and their store. A process that was killed is started again under its name. */
export class SimulatedService {
  readonly world: World;
  readonly network: SimulatedNetwork;
  readonly #options: ServiceOptions;
  readonly #apis: ApiRole[];
  readonly #workers: WorkerRole[];

  constructor(world: World, options: ServiceOptions) {
    this.world = world;
    this.#options = options;
    this.network = new SimulatedNetwork(world);
    enterWorld(world, this.network.connect);
    this.#apis = Array.from({ length: options.apis }, (_, at) => this.#startApi(`api-${at}`));
    this.#workers = Array.from({ length: options.workers }, (_, at) => this.#startWorker(`worker-${at}`));
  }

  /** The apis that take requests. Load balancers notice at once that one stops. */
  get apis(): { process: SimulatedProcess; parts: NonNullable<ApiRole['parts']> }[] {
    return this.#apis.flatMap(({ process, parts, isStopping }) =>
      parts && !process.isDead && !isStopping ? { process, parts } : [],
    );
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
    return startApi(new SimulatedProcess(this.world, name), serviceSettings('api', this.#options));
  }

  #startWorker(name: string): WorkerRole {
    const { providersOf } = this.#options;
    const settings = serviceSettings('worker', this.#options);
    return startWorker(new SimulatedProcess(this.world, name), { settings, providersOf });
  }
}
