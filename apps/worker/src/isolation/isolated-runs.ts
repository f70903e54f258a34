import type { ChildProcess } from 'node:child_process';
import type { Settings } from '@sluice/config';
import type { Outcome } from '@sluice/queue';
import { type Cells, type LetIn, lossesToBeAlone } from '@sluice/response-store';
import { forkModule, type Logger, type Telemetry } from '@sluice/runtime';
import { addressesOf } from '@sluice/wiring';
import type { FromIsolated, ToIsolated } from './messages.ts';
import { choosePlace, type Place } from './choose-place.ts';

/** How long a process without work is kept for the next suspect, in milliseconds. */
const idleMs = 5_000;

/** How long a process may take to end after its last run, in milliseconds. */
const endWithinMs = 5_000;

/** When to look again at a response whose process died, in milliseconds. Its lease has to lapse first. */
const afterDeathMs = 1_000;

/** A process beside this one, as Node forks it. */
export type IsolatedChild = Pick<
  ChildProcess,
  'connected' | 'send' | 'disconnect' | 'kill' | 'on' | 'once' | 'pid'
>;

interface Isolated extends Place {
  child: IsolatedChild;
  exited: Promise<void>;
  /** Resolves the run of each response in the process, by its id. */
  runs: Map<string, (outcome: Outcome) => void>;
  tenant: string;
  idle: NodeJS.Timeout | undefined;
  /** It has claims to release once Redis answers. */
  hasReleases: boolean;
  /** It has settings that are no longer in effect. */
  isRetired: boolean;
}

/** A response whose last runs died with their processes. */
export interface Suspect {
  responseId: string;
  tenant: string;
  losses: number;
}

export interface IsolatedRunsOptions {
  /** Read whenever a process is started. */
  settings: Settings & { redisUrl: string };
  /** A process knows those that there were when it was started. */
  cells?: Cells<{ name: string; url: string }>;
  telemetry: Telemetry;
  logger: Logger;
  /** Called with a response that was alone in a process that died. */
  onCulprit: (responseId: string) => void;
  /** Called with responses that an end there has let into their queues. */
  onLetIn: (letIn: readonly LetIn[]) => void;
  /** Starts a process that runs suspects; by default `isolated-process.ts`. */
  fork?: (() => IsolatedChild) | undefined;
}

/**
 * Runs suspects in processes beside this one: responses whose last run died with its process. One of them may have
 * killed it, and most only ran beside that.
 *
 * All suspects of a worker run at once, in a few processes. A response that is lost there a second time has to be alone for
 * its third run. A response whose process dies while it is alone there is the culprit, however it came to be alone.
 *
 * Processes are started when they are needed, and end soon after, or with this process.
 */
export class IsolatedRuns {
  readonly #options: IsolatedRunsOptions;
  readonly #processes = new Set<Isolated>();
  #isInterrupted = false;

  constructor(options: IsolatedRunsOptions) {
    this.#options = options;
    options.cells?.follow({ join: () => this.retire(), leave: () => undefined });
  }

  /** Runs a suspect; undefined when there is no place for it now, or when this process stops. */
  run({ responseId, tenant, losses }: Suspect): Promise<Outcome> | undefined {
    if (this.#isInterrupted) return undefined;
    const connected = [...this.#processes].filter(({ child, isRetired }) => child.connected && !isRetired);
    const mustBeAlone = losses >= lossesToBeAlone;
    const dying = this.#processes.size - connected.length;
    const choice = choosePlace(connected, { tenant, mustBeAlone, dying });
    if (choice === undefined) return undefined;
    const isolated = choice === 'new' ? this.#start() : choice;
    clearTimeout(isolated.idle);
    isolated.tenant = tenant;
    isolated.isTaken = mustBeAlone;
    return new Promise((settle) => {
      isolated.runs.set(responseId, settle);
      send(isolated, { type: 'run', responseId });
    });
  }

  /** Leaves the processes that there are to what they run, because the settings have changed. The next suspect gets a new one. */
  retire(): void {
    for (const isolated of this.#processes) {
      isolated.isRetired = true;
      if (mayEnd(isolated)) void end(isolated);
    }
  }

  /** Ends all runs, or gives their responses back. */
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
    const { settings, cells, logger, fork = forkIsolated } = this.#options;
    const child = fork();
    const { promise: exited, resolve } = Promise.withResolvers<void>();
    const isolated: Isolated = {
      child,
      exited,
      runs: new Map(),
      isTaken: false,
      tenant: '',
      idle: undefined,
      hasReleases: false,
      isRetired: false,
    };
    this.#processes.add(isolated);
    // `isolated-process.ts` sends nothing else.
    child.on('message', (message) => this.#hear(isolated, message as FromIsolated));
    const leave = () => {
      clearTimeout(isolated.idle);
      this.#processes.delete(isolated);
      resolve();
    };
    child.once('error', (error) => {
      logger.error({ err: error }, 'isolated process failed');
      // One that could not be started has no exit, and is nobody's fault.
      if (child.pid !== undefined) return;
      comeAgain(isolated);
      leave();
    });
    child.once('exit', (code, signal) => {
      this.#mourn(isolated, { code, signal });
      leave();
    });
    // Plain data: the models may be read from where they change.
    send(isolated, {
      type: 'settings',
      settings: { ...settings, ...(cells && { redisUrl: addressesOf(cells) }) },
    });
    return isolated;
  }

  /** Has the responses of a dead process delivered again. Their claims decide what becomes of them. */
  #mourn(isolated: Isolated, how: { code: number | null; signal: NodeJS.Signals | null }): void {
    const { logger, onCulprit } = this.#options;
    const [responseId, ...others] = isolated.runs.keys();
    if (responseId === undefined) return;
    if (others.length === 0) onCulprit(responseId);
    logger.error({ responseIds: [responseId, ...others], ...how }, 'process of suspects died');
    comeAgain(isolated);
  }

  #hear(isolated: Isolated, message: FromIsolated): void {
    if (message.type === 'happened') {
      const { event, fact } = message.told;
      this.#options.telemetry.emit(event, fact);
      return;
    }
    if (message.type === 'let_in') {
      this.#options.onLetIn(message.letIn);
      return;
    }
    if (message.type === 'releases') {
      isolated.hasReleases = message.arePending;
      rest(isolated);
      return;
    }
    const { runs } = isolated;
    const settle = runs.get(message.responseId);
    runs.delete(message.responseId);
    rest(isolated);
    settle?.(message.outcome);
  }
}

function forkIsolated(): ChildProcess {
  return forkModule(new URL('./isolated-process.ts', import.meta.url), [], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // Its messages carry errors.
    serialization: 'advanced',
  });
}

/** Whether nothing is lost with a process. The claims that it has to release would count as lost runs. */
function mayEnd({ runs, hasReleases }: Isolated): boolean {
  return runs.size === 0 && !hasReleases;
}

/** Ends a process that has no work in a while, or at once if it gets none any more. */
function rest(isolated: Isolated): void {
  clearTimeout(isolated.idle);
  if (!mayEnd(isolated)) return;
  isolated.idle = setTimeout(() => void end(isolated), isolated.isRetired ? 0 : idleMs);
}

/** Has the responses that were to run in a process delivered again in a moment. */
function comeAgain({ runs }: Isolated): void {
  for (const settle of runs.values()) settle({ kind: 'later', afterMs: afterDeathMs });
  runs.clear();
}

/** Sends a message. If the process has ended, its exit settles the runs. */
function send({ child }: Isolated, message: ToIsolated): void {
  if (child.connected) child.send(message, () => undefined);
}

async function end({ child, exited }: Isolated): Promise<void> {
  if (child.connected) child.disconnect();
  const deadline = setTimeout(() => child.kill('SIGKILL'), endWithinMs);
  await exited;
  clearTimeout(deadline);
}
