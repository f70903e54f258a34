import type { ChildProcess } from 'node:child_process';
import type { Settings } from '@sluice/config';
import type { Outcome } from '@sluice/queue';
import { forkModule, type Logger, type Telemetry } from '@sluice/runtime';
import type { FromIsolated, ToIsolated } from './messages.ts';

/** Most processes at once. Each takes the memory of a small worker. */
const mostProcesses = 4;

/** How long a process without work is kept for the next suspect, in milliseconds. */
const idleMs = 5_000;

/** How long a process may take to end after its last run, in milliseconds. */
const endWithinMs = 5_000;

/** When a response is looked at again whose process died: its lease has to lapse first. In milliseconds. */
const afterDeathMs = 1_000;

interface Isolated {
  child: ChildProcess;
  exited: Promise<void>;
  /** What runs there, and who waits for it. */
  current: { responseId: string; settle: (outcome: Outcome) => void } | undefined;
  idle: NodeJS.Timeout | undefined;
}

export interface IsolatedRunsOptions {
  settings: Settings & { redisUrl: string };
  telemetry: Telemetry;
  logger: Logger;
}

/**
 * Runs responses in processes of their own, one at a time in each. It is for those whose last run died with its process:
 * the one that killed it dies alone this time, and those that only ran beside it are done.
 *
 * Processes are started when they are needed, and end soon after, or with this process.
 */
export class IsolatedRuns {
  readonly #options: IsolatedRunsOptions;
  readonly #processes = new Set<Isolated>();
  #isInterrupted = false;

  constructor(options: IsolatedRunsOptions) {
    this.#options = options;
  }

  /** Runs a response; undefined when every process is busy, or this one stops. */
  run(responseId: string): Promise<Outcome> | undefined {
    if (this.#isInterrupted) return undefined;
    const free = [...this.#processes].find(({ current, child }) => !current && child.connected);
    if (!free && this.#processes.size >= mostProcesses) return undefined;
    const isolated = free ?? this.#start();
    clearTimeout(isolated.idle);
    return new Promise((settle) => {
      isolated.current = { responseId, settle };
      send(isolated, { type: 'run', responseId });
    });
  }

  /** Ends what runs, or has it given back. */
  interruptAll(): void {
    this.#isInterrupted = true;
    for (const isolated of this.#processes) send(isolated, { type: 'interrupt' });
  }

  /** Resolves when every process has ended. Nothing may run any more. */
  async stop(): Promise<void> {
    this.#isInterrupted = true;
    await Promise.all([...this.#processes].map((isolated) => end(isolated)));
  }

  #start(): Isolated {
    const { settings, logger } = this.#options;
    const child = forkIsolated();
    const { promise: exited, resolve } = Promise.withResolvers<void>();
    const isolated: Isolated = { child, exited, current: undefined, idle: undefined };
    this.#processes.add(isolated);
    // `isolated-process.ts` sends nothing else.
    child.on('message', (message) => this.#hear(isolated, message as FromIsolated));
    child.once('error', (error) => logger.error({ err: error }, 'isolated process failed'));
    child.once('exit', (code, signal) => {
      clearTimeout(isolated.idle);
      this.#processes.delete(isolated);
      const { current } = isolated;
      if (current) {
        const { responseId } = current;
        logger.error({ responseId, code, signal }, 'process died while it ran a response alone');
        current.settle({ kind: 'later', afterMs: afterDeathMs });
      }
      resolve();
    });
    send(isolated, { type: 'settings', settings });
    return isolated;
  }

  #hear(isolated: Isolated, message: FromIsolated): void {
    if (message.type === 'happened') {
      const { event, fact } = message.told;
      this.#options.telemetry.emit(event, fact);
      return;
    }
    const { current } = isolated;
    isolated.current = undefined;
    isolated.idle = setTimeout(() => void end(isolated), idleMs);
    current?.settle(message.outcome);
  }
}

function forkIsolated(): ChildProcess {
  return forkModule(new URL('./isolated-process.ts', import.meta.url), [], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // Errors are among what it tells.
    serialization: 'advanced',
  });
}

/** What cannot be told to a process that has ended is answered by its exit. */
function send({ child }: Isolated, message: ToIsolated): void {
  if (child.connected) child.send(message, () => undefined);
}

async function end({ child, exited }: Isolated): Promise<void> {
  if (child.connected) child.disconnect();
  const deadline = setTimeout(() => child.kill('SIGKILL'), endWithinMs);
  await exited;
  clearTimeout(deadline);
}
