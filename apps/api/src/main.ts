import { randomUUID } from 'node:crypto';
import { openSettings } from '@sluice/config';
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
import { ApiProcess } from './api-process.ts';

export { makeApiParts, type ApiParts } from './api-parts.ts';
export { storedNameOf } from './key-names.ts';
export { asServiceError } from './plugins/error-handler.ts';
export type { Answer } from './responses/answer.ts';
export { CallerPresence, type Caller } from './responses/caller.ts';
export { dialects } from './responses/dialect.ts';
export type { EventSink, SentEvent } from './responses/event-sink.ts';
export { PendingRequest } from './responses/pending-request.ts';

/** Runs an api until it is told to stop. */
export async function runApi(argv: readonly string[]): Promise<void> {
  const { settings, watch } = openSettings({ env: process.env, argv, cwd: process.cwd(), role: 'api' });
  keepHeapRoom();
  const logger = createLogger({ name: 'api', level: settings.logLevel });
  const { redisUrl } = settings;
  if (redisUrl === undefined) throw new FatalError('An api needs REDIS_URL.', { exitCode: 2 });
  const api = new ApiProcess({
    settings: { ...settings, redisUrl },
    watch,
    traces: openTraces(settings.traces, {
      service: { role: 'api', version: serviceVersion, instance: randomUUID() },
      onDropped: throttledWarning(logger, 'traces dropped').warn,
    }),
    logger,
    onListening: (addresses) => logger.info(addresses, 'api listening'),
    onReady: ({ url, adminUrl, acceptsDevelopmentKey }) => {
      returnStartMemory();
      logger.info({ url, adminUrl }, 'api ready');
      tellParent({ type: 'ready', url, adminUrl, acceptsDevelopmentKey });
    },
  });
  await runProcess({
    logger,
    drainTimeoutMs: settings.drainTimeoutMs,
    start: (signal, requestStop) => api.start(signal, requestStop),
    stop: (reason) => api.stop(reason),
    reload: () => api.reload(),
  });
}

if (import.meta.main) await runMain(() => runApi(process.argv.slice(2)));
