import { loadSettings } from '@sluice/config';
import { createProvider } from '@sluice/providers';
import { createLogger, FatalError, runMain, runProcess } from '@sluice/runtime';
import { WorkerProcess } from './worker-process.ts';

/** Runs a worker until it is told to stop. */
export async function runWorker(argv: readonly string[]): Promise<void> {
  const settings = loadSettings({ env: process.env, argv, cwd: process.cwd(), role: 'worker' });
  const logger = createLogger({ name: 'worker', level: settings.logLevel });
  const { redisUrl, providers, timeouts } = settings;
  if (redisUrl === undefined) throw new FatalError('A worker needs REDIS_URL.', { exitCode: 2 });
  const worker = new WorkerProcess({
    settings: { ...settings, redisUrl },
    providers: new Map(providers.map((provider) => [provider.id, createProvider(provider, timeouts)])),
    logger,
    onReady: ({ healthPort }) => {
      logger.info({ concurrency: settings.workerConcurrency, healthPort }, 'worker ready');
      process.send?.({ type: 'ready' });
    },
  });
  await runProcess({
    logger,
    drainTimeoutMs: settings.drainTimeoutMs,
    start: (signal, requestStop) => worker.start(signal, requestStop),
    stop: (reason) => worker.stop(reason),
  });
}

if (import.meta.main) await runMain(() => runWorker(process.argv.slice(2)));
