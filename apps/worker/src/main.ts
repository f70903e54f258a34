import { randomUUID } from 'node:crypto';
import { openSettings, type ProviderSettings } from '@sluice/config';
import { atAddress, createProvider, type Provider } from '@sluice/providers';
import {
  createLogger,
  FatalError,
  keepHeapRoom,
  returnStartMemory,
  runMain,
  runProcess,
  serviceVersion,
  tellParent,
  throttledWarning,
} from '@sluice/runtime';
import { openTraces } from '@sluice/traces';
import { askForModels } from './models/ask-for-models.ts';
import { WorkerProcess } from './worker-process.ts';

/** The parts that compose a worker, for tests that run one in their own process. */
export { type SuspectsLink, runSuspects } from './isolation/run-suspects.ts';
export type { IsolatedChild } from './isolation/isolated-runs.ts';
export type { FromIsolated, ToIsolated } from './isolation/messages.ts';
export { WorkerProcess };

/** Runs a worker until it is told to stop. */
export async function runWorker(argv: readonly string[]): Promise<void> {
  const { settings, watch } = openSettings({ env: process.env, argv, cwd: process.cwd(), role: 'worker' });
  keepHeapRoom();
  const logger = createLogger({ name: 'worker', level: settings.logLevel });
  const { redisUrl, providers, timeouts } = settings;
  if (redisUrl === undefined) throw new FatalError('A worker needs REDIS_URL.', { exitCode: 2 });
  const makeProvider = (each: ProviderSettings, address?: string) =>
    createProvider(atAddress(each, address), timeouts, logger);
  const byId = new Map(providers.map((each) => [each.id, makeProvider(each)]));
  await prepare([...byId.values()]);
  const worker = new WorkerProcess({
    settings: { ...settings, redisUrl },
    watch,
    providers: byId,
    createProvider: makeProvider,
    askForModels,
    traces: openTraces(settings.traces, {
      service: { role: 'worker', version: serviceVersion, instance: randomUUID() },
      onDropped: throttledWarning(logger, 'traces dropped').warn,
    }),
    logger,
    onReady: ({ healthPort }) => {
      returnStartMemory();
      logger.info({ concurrency: settings.workerConcurrency, healthPort }, 'worker ready');
      tellParent({ type: 'ready' });
    },
  });
  await runProcess({
    logger,
    drainTimeoutMs: settings.drainTimeoutMs,
    start: (signal, requestStop) => worker.start(signal, requestStop),
    stop: (reason) => worker.stop(reason),
    reload: () => worker.reload(),
  });
}

/** @throws {FatalError} when this machine lacks what a provider needs. */
async function prepare(providers: readonly Provider[]): Promise<void> {
  const missing = await Promise.all(providers.map(async (provider) => provider.prepare?.()));
  const all = missing.filter((each) => each !== undefined);
  if (all.length === 0) return;
  await Promise.all(providers.map((provider) => provider.close()));
  throw new FatalError(all.join('\n'), { exitCode: 2 });
}

if (import.meta.main) await runMain(() => runWorker(process.argv.slice(2)));
