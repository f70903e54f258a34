import { createProvider } from '@sluice/providers';
import { runMain, tellParent } from '@sluice/runtime';
import type { ToIsolated } from './messages.ts';
import { runSuspects } from './run-suspects.ts';

/*
 * A process that runs suspects for its worker: responses whose last run died with its process, and one of which may be
 * the cause. It claims, writes and hears of cancellations by itself. When it dies, the worker does not.
 */

await runMain(async () => {
  // The worker decides when this process stops, also when a terminal interrupts both.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
  await runSuspects({
    send: (message) => tellParent(message),
    // Its worker sends nothing else.
    onMessage: (listener) => process.on('message', (message: ToIsolated) => listener(message)),
    onDisconnect: (listener) => process.once('disconnect', listener),
    providersOf: ({ providers, timeouts }, logger) =>
      new Map(providers.map((provider) => [provider.id, createProvider(provider, timeouts, logger)])),
  });
});
