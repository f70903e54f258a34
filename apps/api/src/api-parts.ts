import { randomUUID } from 'node:crypto';
import { LiveSettings, type OpenSettings, type Settings, type SettingsWatch } from '@sluice/config';
import { queueName, ResponseQueue } from '@sluice/queue';
import { CallerStore, defaultCell } from '@sluice/response-store';
import {
  createMetrics,
  loggedError,
  type Logger,
  type Metrics,
  RedisClock,
  RedisMemory,
  RedisWatch,
  Telemetry,
  throttledWarning,
} from '@sluice/runtime';
import { ContentSealer, SealingKeys } from '@sluice/sealed-content';
import type { ProcessStats } from '@sluice/service-stats';
import { KeyStore } from '@sluice/stored-keys';
import { serviceReports, type ServiceReports, statsSources } from './admin/reports/service-reports.ts';
import { logApi } from './api-log.ts';
import { countApi } from './api-metrics.ts';
import { apiStats } from './api-stats.ts';
import { BodyBudget } from './bodies/body-budget.ts';
import { BodyThreads } from './bodies/body-threads.ts';
import { KeysInEffect } from './keys-in-effect.ts';
import { LeaseThread } from './lease/lease-thread.ts';
import { OpenRequests } from './open-requests.ts';
import { ReadLimits } from './read-limits.ts';
import { type RedisConnections, redisConnections } from './redis-connections.ts';
import { Responses } from './responses/responses.ts';
import { SocketConnections } from './websocket/socket-connections.ts';

export interface ApiPartsOptions {
  settings: Settings & { redisUrl: string };
  /** Watches the file of the settings; without it they stay as they are. */
  watch?: OpenSettings['watch'];
  logger: Logger;
  /** Until it has started, the start itself says what is wrong with Redis, once. */
  hasStarted: () => boolean;
  isStopping: () => boolean;
  /** The store's time for an accept. Throws while nothing can be accepted. */
  acceptingNow: (clock: RedisClock) => number;
}

/** What an api process is made of, connected but not started. `ApiProcess` starts and stops it. */
export interface ApiParts {
  connections: RedisConnections;
  live: LiveSettings;
  keys: KeysInEffect;
  watch: SettingsWatch | undefined;
  clock: RedisClock;
  redis: RedisWatch;
  memory: RedisMemory;
  metrics: Metrics;
  telemetry: Telemetry;
  queue: ResponseQueue;
  store: CallerStore;
  responses: Responses;
  bodies: BodyThreads;
  sealing: SealingKeys;
  open: OpenRequests;
  readLimits: ReadLimits;
  bodyBudget: BodyBudget;
  sockets: SocketConnections;
  stats: ProcessStats;
  reports: ServiceReports;
}

/** Makes the parts of an api process and connects them with each other. */
export function makeApiParts({
  settings,
  watch,
  logger,
  hasStarted,
  isStopping,
  acceptingNow,
}: ApiPartsOptions): ApiParts {
  const live = new LiveSettings({ ...settings, isComplete: false });
  const settingsWatch = watch?.({ apply: (changed) => keys.takeSettings(changed), log: logger });
  const open = new OpenRequests();
  const readLimits = new ReadLimits();
  const bodyBudget = new BodyBudget(() => live.limits.bodyBytesInFlight);
  const { durability, timeouts } = settings;
  const connections = redisConnections(settings.redisUrl, { logger, hasBarrier: durability !== 'local' });
  const { commands, barrier, ...others } = connections;
  const clock = new RedisClock({ client: commands, logger });
  const metrics = createMetrics({ logger, labels: { role: 'api' } });
  const { warn } = throttledWarning(logger, 'store error');
  const onError = (error: unknown) => {
    if (hasStarted()) warn(error);
  };
  const telemetry = new Telemetry((error) => logger.error({ err: error }, 'telemetry listener failed'));
  logApi(telemetry, logger);
  const store = new CallerStore({
    ...connections,
    keyPrefix: settings.keyPrefix,
    retention: settings.retention,
    durability:
      barrier && durability !== 'local'
        ? { durability, connection: barrier, withinMs: timeouts.durabilityMs }
        : undefined,
    processId: randomUUID(),
    leaseOver: (keys) => new LeaseThread({ redisUrl: settings.redisUrl, keys, onError }),
    onLetIn: (letIn) => queue.letInAll(letIn),
    onEndedInQueue: (ended) => telemetry.emit('response.ended', ended),
    onError,
  });
  const redis = new RedisWatch({
    url: settings.redisUrl,
    commands,
    others: barrier ? [...Object.values(others), barrier] : Object.values(others),
    durability,
    probeKey: store.keys.inCell(defaultCell).probe,
    logger,
  });
  const memory = new RedisMemory({ commands, onError });
  const keys = new KeysInEffect({
    settings,
    live,
    store: new KeyStore({
      connection: commands,
      keyPrefix: store.keys.inCell(defaultCell).prefix,
    }),
    logger,
  });
  const queue = new ResponseQueue({
    connection: commands,
    keyPrefix: store.keys.inCell(defaultCell).prefix,
    names: [...new Set(settings.models.map((model) => queueName(model.queue)))],
    onError,
    onLetInFailed: (error) => onError(error),
  });
  countApi(telemetry, metrics.registry, {
    queue,
    openRequests: () => open.size,
    sockets: () => sockets,
  });
  const sealing = new SealingKeys({
    connection: commands,
    keyPrefix: store.keys.inCell(defaultCell).prefix,
    secrets: settings.encryptionKeys,
    onError,
  });
  const bodies = new BodyThreads({
    bodyBytes: () => live.limits.bodyBytes,
    sealingKeys: () => sealing.all,
    onError: (error) => logger.warn({ err: loggedError(error) }, 'JSON thread ended'),
  });
  const responses = new Responses({
    settings,
    live,
    store,
    json: bodies.reader,
    queue,
    sealerOf: (tenant) => new ContentSealer(sealing.all, tenant),
    redisUsedPercent: () => memory.usedPercent,
    telemetry,
    now: () => acceptingNow(clock),
    logger,
  });
  const sockets = new SocketConnections({
    responses,
    live,
    readLimits,
    open,
    bodyBudget,
    json: bodies.reader,
    telemetry,
    logger,
    isEnabled: settings.server.webSockets,
    limits: settings.limits,
  });
  const stats = apiStats({
    isOn: settings.console.statistics,
    connection: commands,
    keyPrefix: store.keys.inCell(defaultCell).prefix,
    telemetry,
    models: settings.models.map(({ id }) => id),
    clock,
    isStopping,
    openRequests: () => open.size,
    webSockets: () => sockets.size,
    logger,
  });
  const reports = serviceReports({
    settings,
    live,
    keys,
    queue,
    store,
    memory,
    redis,
    ...statsSources({
      connection: commands,
      keyPrefix: store.keys.inCell(defaultCell).prefix,
      now: () => clock.now(),
    }),
    logger,
  });
  return {
    connections,
    live,
    keys,
    watch: settingsWatch,
    clock,
    redis,
    memory,
    metrics,
    telemetry,
    queue,
    store,
    responses,
    bodies,
    sealing,
    open,
    readLimits,
    bodyBudget,
    sockets,
    stats,
    reports,
  };
}
