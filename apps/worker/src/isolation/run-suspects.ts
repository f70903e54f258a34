import { randomUUID } from 'node:crypto';
import type { Settings } from '@sluice/config';
import type { Provider } from '@sluice/providers';
import type { Outcome } from '@sluice/queue';
import { createLogger, type Logger, throttledWarning } from '@sluice/runtime';
import { connect, type ConnectedSettings, isolatedRole } from '@sluice/wiring';
import { AttemptRunner } from '../attempt-runner.ts';
import type { CreateProvider } from '../servers/server-pool.ts';
import { mostProcesses } from './choose-place.ts';
import type { FromIsolated, ToIsolated } from './messages.ts';

/** When to look again at a response whose run has rejected, in milliseconds. */
const afterRejectionMs = 1_000;

/** The worker of a process that runs suspects, as that process has it. */
export interface SuspectsLink {
  send: (message: FromIsolated) => void;
  onMessage: (listener: (message: ToIsolated) => void) => void;
  /** Calls the listener when the worker is gone, or wants this process to end. */
  onDisconnect: (listener: () => void) => void;
  /** Makes every upstream of the settings, by its id. */
  providersOf: (settings: Settings, logger: Logger) => ReadonlyMap<string, Provider>;
  /** Makes the further servers of a provider that has several; absent to call the first alone. */
  createProviderOf?: (settings: Settings, logger: Logger) => CreateProvider;
}

interface Suspects {
  runner: AttemptRunner;
  logger: Logger;
  /** Resolves when responses can be run, which may take as long as Redis is away. Rejects with the reason of an interruption. */
  started: Promise<void>;
}

/** Runs suspects for a worker until it disconnects: claims, writes and hears of cancellations by itself. */
export async function runSuspects(link: SuspectsLink): Promise<void> {
  const interruption = new AbortController();
  const { signal: interrupted } = interruption;
  const { promise: ready, resolve: beReady } = Promise.withResolvers<void>();
  let suspects: Suspects | undefined;
  const running = new Set<Promise<void>>();
  const interrupt = () => {
    interruption.abort();
    suspects?.runner.running.interruptAll();
    beReady();
  };
  const run = async (responseId: string) => {
    await ready;
    const outcome = interrupted.aborted ? givenBack : await outcomeOf(suspects, responseId);
    link.send({ type: 'outcome', responseId, outcome });
  };
  await new Promise<void>((resolve, reject) => {
    const take = (message: ToIsolated) => {
      switch (message.type) {
        case 'settings':
          suspects = start(message.settings, link, interrupted);
          suspects.started.then(beReady, (error: unknown) => {
            if (!interrupted.aborted) reject(error);
          });
          break;
        case 'run': {
          const begun = run(message.responseId).finally(() => running.delete(begun));
          running.add(begun);
          begun.catch(reject);
          break;
        }
        case 'interrupt':
          interrupt();
          break;
      }
    };
    link.onMessage((message) => {
      try {
        take(message);
      } catch (error) {
        reject(error);
      }
    });
    link.onDisconnect(resolve);
  });
  interrupt();
  await Promise.all(running);
  await suspects?.runner.stop();
}

const givenBack: Outcome = { kind: 'given_back' };

/**
 * Runs a suspect. A run that rejects is a defect, or the store has been away for too long. It is no reason to end the process, with which
 * all others in it would seem to be lost.
 */
async function outcomeOf(suspects: Suspects | undefined, responseId: string): Promise<Outcome> {
  try {
    if (!suspects) throw new TypeError('A response came before the settings');
    return await suspects.runner.execute(responseId);
  } catch (error) {
    suspects?.logger.error({ responseId, err: error }, 'attempt rejected');
    return { kind: 'later', afterMs: afterRejectionMs };
  }
}

function start(
  settings: ConnectedSettings,
  { send, providersOf, createProviderOf }: SuspectsLink,
  interrupted: AbortSignal,
): Suspects {
  const logger = createLogger({ name: 'worker', level: settings.logLevel });
  const workerId = randomUUID();
  const role = isolatedRole({
    processId: workerId,
    onEndAskedFor: (responseId) => runner.endAskedFor(responseId),
    roomForInput: (wanted) => runner.roomForInput(wanted),
    onError: throttledWarning(logger, 'lease not renewed').warn,
  });
  const wired = connect(settings, role, {
    logger,
    // The worker has the queues.
    letInAll: (letIn) => {
      if (letIn.length > 0) send({ type: 'let_in', letIn });
    },
    onQueueError: throttledWarning(logger, 'queue error').warn,
  });
  wired.telemetry.onEvery((told) => send({ type: 'happened', told }));
  const runner = new AttemptRunner({
    settings,
    wired,
    workerId,
    providers: providersOf(settings, logger),
    createProvider: createProviderOf?.(settings, logger),
    logger,
    isolate: undefined,
    // All of them together hold no more than the worker does.
    memoryShare: 1 / mostProcesses,
    holdQueue: () => undefined,
    onReleases: (arePending) => send({ type: 'releases', arePending }),
  });
  // Redis is waited for. A process that failed because it is away would leave a bystander to blame.
  return { runner, logger, started: runner.start(interrupted) };
}
