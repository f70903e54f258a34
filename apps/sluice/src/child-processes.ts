import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { FatalError } from '@sluice/runtime';

/** Delay before a process that died is started again, in milliseconds. */
const restartAfterMs = 1_000;

/** A process that ran for this long counts as started, in milliseconds. */
const settledAfterMs = 30_000;

/** Failed starts in a row before the whole service stops, because the cause seems to be permanent. */
const mostFailedStarts = 5;

export interface ChildProcessesOptions {
  /** Flags for every role. */
  argv: readonly string[];
  env: NodeJS.ProcessEnv;
  /** How long a process may take to stop before it is killed, in milliseconds. */
  stopWithinMs: number;
  /** Called when a process keeps dying or cannot be started again. */
  onGivenUp: (error: FatalError) => void;
}

type Role = 'api' | 'worker';

interface Child {
  role: Role;
  name: string;
  env: NodeJS.ProcessEnv;
  process: ChildProcess;
  exited: Promise<void>;
  startedAt: number;
  failedStarts: number;
  isReady: boolean;
}

interface ApiReady {
  url: string;
  adminUrl: string;
  /** Whether the service has no other key. */
  acceptsDevelopmentKey: boolean;
}

/**
 * The api and the workers of `start`, as child processes. A process that dies is reported and started again. A process
 * that cannot start, or keeps dying, ends the whole service with its own exit code.
 */
export class ChildProcesses {
  readonly #options: ChildProcessesOptions;
  readonly #children: Child[] = [];
  readonly #restarts = new Set<NodeJS.Timeout>();
  #isStopping = false;

  constructor(options: ChildProcessesOptions) {
    this.#options = options;
  }

  /**
   * Starts the api with the options that it alone gets.
   *
   * @throws {FatalError} when the api dies before it is ready. Its own output says why.
   */
  async startApi(env: NodeJS.ProcessEnv): Promise<ApiReady> {
    const ready = await this.#start('api', 'api', env);
    return ready as ApiReady; // the message of apps/api/src/main.ts
  }

  /** Starts the workers. Each one after the first answers health checks on the next port. */
  async startWorkers(count: number, healthPort: number | undefined): Promise<void> {
    const starts = Array.from({ length: count }, (_, at) => {
      const port = healthPort === undefined || healthPort === 0 ? healthPort : healthPort + at;
      return this.#start(
        'worker',
        `worker ${at + 1}`,
        port === undefined ? {} : { WORKER_HEALTH_PORT: String(port) },
      );
    });
    await Promise.all(starts);
  }

  /** Stops the api first, which answers its callers, and then the workers, which finish their attempts. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const timer of this.#restarts) clearTimeout(timer);
    await this.#stopRole('api');
    await this.#stopRole('worker');
  }

  /** Tells every process to read the settings file at once. */
  reload(): void {
    // Before a process is ready, the signal would end it. It reads the file when it starts.
    for (const { process: running, isReady } of this.#children) if (isReady) running.kill('SIGHUP');
  }

  /** Kills every process at once. */
  kill(): void {
    this.#isStopping = true;
    for (const child of this.#children) child.process.kill('SIGKILL');
  }

  #start(role: Role, name: string, env: NodeJS.ProcessEnv): Promise<unknown> {
    const child = this.#fork(role, name, env);
    this.#children.push(child);
    return this.#untilReady(child);
  }

  #fork(role: Role, name: string, env: NodeJS.ProcessEnv): Child {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const main = fileURLToPath(new URL(`./main.${extension}`, import.meta.url));
    const forked = fork(main, [role, ...this.#options.argv], {
      // As in the image: its threads share two arenas of glibc, which saves some megabytes and costs no time.
      env: { MALLOC_ARENA_MAX: '2', ...this.#options.env, ...env },
      execArgv: process.execArgv,
    });
    const exited = new Promise<void>((resolve) => forked.once('exit', () => resolve()));
    return {
      role,
      name,
      env,
      process: forked,
      exited,
      startedAt: performance.now(),
      failedStarts: 0,
      isReady: false,
    };
  }

  /** Resolves with the ready message of a process, and watches the process from then on. */
  #untilReady(child: Child): Promise<unknown> {
    return new Promise((resolve, reject) => {
      child.process.once('message', (message) => {
        child.isReady = true;
        resolve(message);
      });
      child.process.once('exit', (code, signal) => {
        if (this.#isStopping) {
          reject(new FatalError(`The ${child.name} was stopped while it started.`));
        } else if (child.isReady) {
          this.#replace(child, code, signal);
        } else {
          reject(couldNotStart(child, code, signal));
        }
      });
    });
  }

  /** Reports that a process died, and starts it again. */
  #replace(child: Child, code: number | null, signal: NodeJS.Signals | null): void {
    const lived = performance.now() - child.startedAt;
    const failedStarts = lived > settledAfterMs ? 1 : child.failedStarts + 1;
    if (failedStarts >= mostFailedStarts) {
      this.#options.onGivenUp(new FatalError(`The ${child.name} died ${failedStarts} times in a row.`));
      return;
    }
    console.error(
      `sluice: the ${child.name} (process ${child.process.pid}) died with ${ending(code, signal)}; starting it again`,
    );
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      const { role, name, env } = child;
      const next = { ...this.#fork(role, name, env), failedStarts };
      this.#children.splice(this.#children.indexOf(child), 1, next);
      this.#untilReady(next).then(
        () => console.error(`sluice: the ${name} is back (process ${next.process.pid})`),
        (error: unknown) => {
          if (!this.#isStopping) this.#options.onGivenUp(error as FatalError); // `couldNotStart`
        },
      );
    }, restartAfterMs);
    this.#restarts.add(timer);
  }

  async #stopRole(role: Role): Promise<void> {
    const children = this.#children.filter((child) => child.role === role);
    await Promise.all(
      children.map(async ({ process: running, exited }) => {
        if (running.exitCode !== null || running.signalCode !== null) return;
        // Closing the IPC channel requests a stop on every platform.
        if (running.connected) running.disconnect();
        const deadline = setTimeout(() => running.kill('SIGKILL'), this.#options.stopWithinMs);
        await exited;
        clearTimeout(deadline);
      }),
    );
  }
}

/** Describes a failed start. A process that exits with code 1 or 2 has already printed the reason. */
function couldNotStart(child: Child, code: number | null, signal: NodeJS.Signals | null): FatalError {
  return new FatalError(`The ${child.name} could not start: it ended with ${ending(code, signal)}.`, {
    exitCode: code === 2 ? 2 : 1,
    isReported: code === 1 || code === 2,
  });
}

function ending(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}
