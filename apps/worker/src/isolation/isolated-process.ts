import { randomUUID } from 'node:crypto';
import { createProvider } from '@sluice/providers';
import { createLogger, runMain, tellParent, throttledWarning } from '@sluice/runtime';
import { connect, isolatedRole } from '@sluice/wiring';
import { AttemptRunner } from '../attempt-runner.ts';
import { mostProcesses } from './choose-place.ts';
import type { FromIsolated, ToIsolated } from './messages.ts';

/*
 * A process that runs suspects for its worker: responses whose last run died with its process, and one of which may be
 * the cause. It claims, writes and hears of cancellations by itself. When it dies, the worker does not.
 */

const send = (message: FromIsolated) => tellParent(message);

async function start({ settings }: Extract<ToIsolated, { type: 'settings' }>): Promise<AttemptRunner> {
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
    providers: new Map(
      settings.providers.map((provider) => [
        provider.id,
        createProvider(provider, settings.timeouts, logger),
      ]),
    ),
    logger,
    isolate: undefined,
    // All of them together hold no more than the worker does.
    memoryShare: 1 / mostProcesses,
    holdQueue: () => undefined,
  });
  await runner.start();
  return runner;
}

await runMain(async () => {
  // The worker decides when this process stops, also when a terminal interrupts both.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
  let runner: Promise<AttemptRunner> | undefined;
  const running = new Set<Promise<void>>();
  const run = async (responseId: string) => {
    const outcome = await (await runner)?.execute(responseId);
    if (outcome) send({ type: 'outcome', responseId, outcome });
  };
  await new Promise<void>((resolve, reject) => {
    const begin = (responseId: string) => {
      const begun = run(responseId).finally(() => running.delete(begun));
      running.add(begun);
      begun.catch(reject);
    };
    process.on('message', (message: ToIsolated) => {
      switch (message.type) {
        case 'settings':
          runner = start(message);
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
    process.once('disconnect', resolve);
  });
  const started = await runner;
  started?.running.interruptAll();
  await Promise.all(running);
  await started?.stop();
});
