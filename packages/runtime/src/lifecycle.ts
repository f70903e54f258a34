import { flushCompileCache } from 'node:module';
import { isatty } from 'node:tty';
import { asFatalError } from './fatal-error.ts';
import { loggedError } from './logged-error.ts';
import type { Logger } from './logger.ts';
import { printFatal } from './print-fatal.ts';

/** Why a process stops. */
export type StopReason =
  | 'terminated' // SIGTERM, or SIGINT without a supervisor
  | 'parent_gone' // the supervisor's IPC channel closed
  | 'start_failed'
  | 'uncaught_error'
  | 'requested'; // somebody called `requestStop`

export interface ProcessRole {
  logger: Logger;
  /**
   * Opens what the process needs. The signal aborts when a stop is requested during the start. `start` must then settle
   * soon, and `stop` runs in either case.
   */
  start(signal: AbortSignal, requestStop: RequestStop): Promise<void>;
  /** Drains and closes, also after a failed start. Called once. The process exits when nothing is left open. */
  stop(reason: StopReason): Promise<void>;
  /** Runs on SIGHUP, if the process has no terminal. It must not throw. Without it, SIGHUP ends the process. */
  reload?(): void;
  /** How long `stop` may take before the process exits with code 1. */
  drainTimeoutMs: number;
  /** Runs synchronously before a forced exit, to end everything that would outlive the process, such as children. */
  onForcedExit?(): void;
}

/** Requests the same stop as SIGTERM. The exit code is 0, or 1 if an error is given. */
export type RequestStop = (error?: unknown) => void;

/**
 * Runs a process from its start to its exit. The promise resolves when the process has stopped and is about to exit.
 *
 * - SIGTERM drains. SIGINT does too, except in a child with an IPC channel: a terminal sends Ctrl-C to every process at
 *   once, and the parent decides the order of stopping.
 * - SIGHUP reloads a role that can reload, unless the process has a terminal. There the signal says that the terminal is
 *   gone, and ends the process.
 * - A second signal exits at once with code 1. Within half a second it counts as the first one, because `npm` repeats a
 *   Ctrl-C that the process has already received.
 * - A closed IPC channel drains, so that no child outlives its parent.
 * - An uncaught error is logged and drains with exit code 1, because the state of the process is unknown.
 * - A `FatalError` from `start` is printed without a stack, and its exit code is used.
 *
 * After a clean drain the process ends by itself. If something still holds it open after five seconds, that is logged
 * and the exit code is 1.
 */
export async function runProcess(role: ProcessRole): Promise<void> {
  const { logger } = role;
  const starting = new AbortController();
  const stopAsked = Promise.withResolvers<StopReason>();
  let firstSignalAt: number | undefined;
  let isStopping = false;
  process.exitCode = 0;

  const forceExit = () => {
    role.onForcedExit?.();
    process.exit(1);
  };
  const askToStop = (reason: StopReason) => {
    if (isStopping) return;
    isStopping = true;
    logger.info({ reason }, 'stopping');
    starting.abort(new Error(`stopping: ${reason}`));
    stopAsked.resolve(reason);
  };
  const requestStop: RequestStop = (error) => {
    if (error !== undefined) {
      process.exitCode = 1;
      logger.error({ err: loggedError(error) }, 'stop requested after an error');
    }
    askToStop('requested');
  };
  const onSignal = (signal: NodeJS.Signals) => {
    if (signal === 'SIGINT' && process.connected) return;
    const now = performance.now();
    if (firstSignalAt === undefined) firstSignalAt = now;
    else if (now - firstSignalAt > SAME_SIGNAL_MS) {
      logger.error({ signal }, 'second signal, exiting at once');
      forceExit();
    }
    askToStop('terminated');
  };
  const onDisconnect = () => askToStop('parent_gone');
  const onUncaught = (error: unknown) => {
    process.exitCode = 1;
    logger.fatal({ err: loggedError(error) }, 'uncaught error');
    askToStop('uncaught_error');
  };

  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  const onHangUp = () => role.reload?.();
  const canReload = role.reload !== undefined && !hasTerminal();
  if (canReload) process.on('SIGHUP', onHangUp);
  process.on('uncaughtException', onUncaught);
  process.on('unhandledRejection', onUncaught);
  // The listener also holds the channel, and with it the process, open until the stop.
  if (process.send !== undefined) process.on('disconnect', onDisconnect);
  if (process.send !== undefined && !process.connected) onDisconnect();

  // A process that is killed leaves what it has compiled to the next start all the same.
  const started = role.start(starting.signal, requestStop).then(flushCompileCache, (error: unknown) => {
    if (isStopping) return;
    reportFailedStart(error, logger);
    askToStop('start_failed');
  });
  const reason = await stopAsked.promise;
  const deadline = setTimeout(() => {
    logger.error({ drainTimeoutMs: role.drainTimeoutMs }, 'drain deadline passed, exiting with work undone');
    forceExit();
  }, role.drainTimeoutMs);
  await started;
  try {
    await role.stop(reason);
  } catch (error) {
    process.exitCode = 1;
    logger.error({ err: loggedError(error) }, 'stop failed');
  }
  clearTimeout(deadline);
  // The listeners stay until here: without them, a second signal would kill the process during its drain.
  for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
  process.off('SIGHUP', onHangUp);
  process.off('disconnect', onDisconnect);
  logger.info({ exitCode: process.exitCode }, 'stopped');
  watchForOpenHandles(logger, forceExit);
}

function hasTerminal(): boolean {
  return [0, 1, 2].some((descriptor) => isatty(descriptor));
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const SAME_SIGNAL_MS = 500;
const OPEN_HANDLES_AFTER_MS = 5000;

function reportFailedStart(error: unknown, logger: Logger): void {
  const fatal = asFatalError(error);
  if (fatal) {
    process.exitCode = fatal.exitCode;
    printFatal(fatal);
    return;
  }
  process.exitCode = 1;
  logger.fatal({ err: loggedError(error) }, 'start failed');
}

/** Logs what keeps a stopped process alive. The timer itself must not, hence `unref`. */
function watchForOpenHandles(logger: Logger, forceExit: () => void): void {
  const timer = setTimeout(() => {
    logger.error({ resources: process.getActiveResourcesInfo() }, 'still open after the stop, exiting');
    forceExit();
  }, OPEN_HANDLES_AFTER_MS);
  timer.unref();
}
