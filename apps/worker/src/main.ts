import { loadSettings, type Settings } from '@sluice/config';
import { createProvider, faultOfProvider } from '@sluice/providers';
import { createLogger, FatalError, runMain, runProcess } from '@sluice/runtime';
import { WorkerProcess } from './worker-process.ts';

/** Runs a worker until it is told to stop. */
export async function runWorker(argv: readonly string[]): Promise<void> {
  const settings = loadSettings({ env: process.env, argv, cwd: process.cwd(), role: 'worker' });
  const logger = createLogger({ name: 'worker', level: settings.logLevel });
  const { redisUrl, providers, timeouts } = settings;
  if (redisUrl === undefined) throw new FatalError('A worker needs REDIS_URL.', { exitCode: 2 });
  await requireProviders(providers);
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

/**
 * Says at the start which package is not installed, and not at the first request.
 *
 * @throws {FatalError} when a provider could serve no request on this machine.
 */
async function requireProviders(providers: Settings['providers']): Promise<void> {
  const faults = await Promise.all(
    providers.map(async (provider) => {
      const fault = await faultOfProvider(provider);
      return fault === undefined ? [] : [`Provider '${provider.id}': ${fault}`];
    }),
  );
  const [first, ...others] = faults.flat();
  if (first !== undefined) throw new FatalError([first, ...others].join(' '), { exitCode: 2 });
}

if (import.meta.main) await runMain(() => runWorker(process.argv.slice(2)));
