import { atAddress, createProvider } from '@sluice/providers';
import { runMain, tellParent } from '@sluice/runtime';
import type { ToIsolated } from './messages.ts';

/*
 * A process that runs suspects for its worker: responses whose last run died with its process, and one of which may be
 * the cause. It claims, writes and hears of cancellations by itself. When it dies, the worker does not.
 */

await runMain(async () => {
  // The worker decides when this process stops, also when a terminal interrupts both.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
  // A bundle must not keep this beside what a worker imports: a worker would run this file, too, and wait for its end.
  const { runSuspects } = await import('./run-suspects.ts');
  await runSuspects({
    send: (message) => tellParent(message),
    // Its worker sends nothing else.
    onMessage: (listener) => process.on('message', (message: ToIsolated) => listener(message)),
    onDisconnect: (listener) => process.once('disconnect', listener),
    providersOf: ({ providers, timeouts }, logger) =>
      new Map(providers.map((provider) => [provider.id, createProvider(provider, timeouts, logger)])),
    createProviderOf:
      ({ timeouts }, logger) =>
      (provider, address) =>
        createProvider(atAddress(provider, address), timeouts, logger),
  });
});
