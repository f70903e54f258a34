import { randomUUID } from 'node:crypto';
import type { Settings } from '@sluice/config';
import type { Provider } from '@sluice/providers';
import { createLogger, type Logger, throttledWarning } from '@sluice/runtime';
import { connect, type ConnectedSettings, isolatedRole } from '@sluice/wiring';
import { AttemptRunner } from '../attempt-runner.ts';
import type { CreateProvider } from '../servers/server-pool.ts';
import { mostProcesses } from './choose-place.ts';
import type { FromIsolated, ToIsolated } from './messages.ts';

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

/** Runs suspects for a worker until it disconnects: claims, writes and hears of cancellations by itself. */
export async function runSuspects(link: SuspectsLink): Promise<void> {
  let runner: Promise<AttemptRunner> | undefined;
  const running = new Set<Promise<void>>();
  const run = async (responseId: string) => {
    const outcome = await (await runner)?.execute(responseId);
    if (outcome) link.send({ type: 'outcome', responseId, outcome });
  };
  await new Promise<void>((resolve, reject) => {
    const begin = (responseId: string) => {
      const begun = run(responseId).finally(() => running.delete(begun));
      running.add(begun);
      begun.catch(reject);
    };
    link.onMessage((message) => {
      switch (message.type) {
        case 'settings':
          runner = start(message.settings, link);
          runner.catch(reject);
          break;
        case 'run':
          begin(message.responseId);
          break;
        case 'interrupt':
          void runner?.then((each) => each.running.interruptAll());
          break;
      }
    });
    link.onDisconnect(resolve);
  });
  const started = await runner;
  started?.running.interruptAll();
  await Promise.all(running);
  await started?.stop();
}

async function start(
  settings: ConnectedSettings,
  { send, providersOf, createProviderOf }: SuspectsLink,
): Promise<AttemptRunner> {
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
  });
  // Redis is waited for. A process that failed because it is away would leave a bystander to blame.
  await runner.start(new AbortController().signal);
  return runner;
}
