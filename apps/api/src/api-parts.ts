import { randomUUID } from 'node:crypto';
import { LiveSettings, type OpenSettings, type Settings, type SettingsWatch } from '@sluice/config';
import { type JournalWriter, openJournal, queuedEndFact } from '@sluice/journal';
import { ActStore, AuditLog } from '@sluice/operator-acts';
import { type QueueKeeper, queueName, ResponseQueue } from '@sluice/queue';
import { CallerStore, defaultCell, type Lease } from '@sluice/response-store';
import {
  createMetrics,
  FailedLogins,
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
import type { Traces } from '@sluice/traces';
import { type Acting, makeActing } from './admin/acting/acting.ts';
import { keptPauses } from './admin/acting/kept-pauses.ts';
import { KeyChanges } from './admin/keys/index.ts';
import { ResponseIndex } from './admin/response-index.ts';
import { serviceReports, type ServiceReports, statsSources } from './admin/reports/service-reports.ts';
import { logApi } from './api-log.ts';
import { measureApi } from './measure-api.ts';
import { apiStats } from './api-stats.ts';
import { BodyBudget } from './bodies/body-budget.ts';
import { BodyThreads } from './bodies/body-threads.ts';
import { KeysInEffect } from './keys-in-effect.ts';
import { LeaseThread } from './lease/lease-thread.ts';
import { OpenRequests } from './open-requests.ts';
import { ReadLimits } from './read-limits.ts';
import { type RedisConnections, redisConnections } from './redis-connections.ts';
import { hostedToolsOf } from './responses/model-directory.ts';
import { Responses } from './responses/responses.ts';
import { SocketConnections } from './websocket/socket-connections.ts';

export interface ApiPartsOptions {
  settings: Settings & { redisUrl: string };
  /** Watches the file of the settings; without it they stay as they are. */
  watch?: OpenSettings['watch'];
  /** Absent while traces are off. */
  traces?: Traces | undefined;
  logger: Logger;
  /** Until it has started, the start itself says what is wrong with Redis, once. */
  hasStarted: () => boolean;
  isStopping: () => boolean;
  /** The store's time for an accept. Throws while nothing can be accepted. */
  acceptingNow: (clock: RedisClock) => number;
  /** Makes the lease of this process, given its keys; by default in a thread of its own. */
  leaseOver?: (keys: readonly string[]) => Lease;
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
  /** Undefined when none is kept. */
  journal: JournalWriter | undefined;
  index: ResponseIndex;
  queue: ResponseQueue;
  store: CallerStore;
  responses: Responses;
  bodies: BodyThreads;
  sealing: SealingKeys;
  open: OpenRequests;
  readLimits: ReadLimits;
  bodyBudget: BodyBudget;
  sockets: SocketConnections;
  /** What operators can do. */
  acting: Acting;
  /** Pauses queues again when the store was emptied. */
  pauses: QueueKeeper;
  stats: ProcessStats;
  reports: ServiceReports;
}

/** Makes the parts of an api process and connects them with each other. */
export function makeApiParts({
  settings,
  watch,
  traces,
  logger,
  hasStarted,
  isStopping,
  acceptingNow,
  leaseOver,
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
  traces?.listen(telemetry, () => clock.now());
  const store = new CallerStore({
    ...connections,
    keyPrefix: settings.keyPrefix,
    retention: settings.retention,
    durability:
      barrier && durability !== 'local'
        ? { durability, connection: barrier, withinMs: timeouts.durabilityMs }
        : undefined,
    processId: randomUUID(),
    leaseOver: leaseOver ?? ((keys) => new LeaseThread({ redisUrl: settings.redisUrl, keys, onError })),
    onLetIn: (letIn) => {
      for (const { responseId } of letIn) telemetry.emit('response.let_in', { responseId });
      queue.letInAll(letIn);
    },
    onQueuedEnd: (ended) => telemetry.emit('response.ended', queuedEndFact(ended)),
    onError,
  });
  const journal = openJournal(telemetry, {
    connection: commands,
    keyPrefix: store.keys.inCell(defaultCell).prefix,
    settings: settings.console,
    now: () => clock.now(),
    onDropped: throttledWarning(logger, 'journal not written').warn,
  });
  const index = new ResponseIndex({
    redisUrl: settings.redisUrl,
    keyPrefix: settings.keyPrefix,
    settings: settings.console,
    onError: (error) => telemetry.emit('index.ended', { error }),
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
  const keyPrefix = store.keys.inCell(defaultCell).prefix;
  const keyStore = new KeyStore({ connection: commands, keyPrefix });
  const keys = new KeysInEffect({ settings, live, store: keyStore, logger });
  const queue = new ResponseQueue({
    connection: commands,
    keyPrefix,
    names: [...new Set(settings.models.map((model) => queueName(model.queue)))],
    onError,
    onLetInFailed: (error) => onError(error),
  });
  const sealing = new SealingKeys({
    connection: commands,
    keyPrefix,
    secrets: settings.encryptionKeys,
    onError,
  });
  const bodies = new BodyThreads({
    bodyBytes: () => live.limits.bodyBytes,
    sealingKeys: () => sealing.all,
    hostedTools: hostedToolsOf(settings.models),
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
    redisLimitBytes: () => memory.used?.limitBytes,
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
    beginTrace: traces?.begin,
    logger,
    isEnabled: settings.server.webSockets,
    limits: settings.limits,
  });
  const acting = makeActing({
    settings,
    live,
    store,
    queue,
    responses,
    json: bodies.reader,
    bodyBudget,
    auditLog: new AuditLog({ connection: commands, keyPrefix }),
    actStore: new ActStore({ connection: commands, keyPrefix }),
    keyChanges: new KeyChanges({ store: keyStore, isSafe: () => store.isDurable() }),
    keySettings: () => keys.settings,
    onQueueSwitched: (switched) => telemetry.emit('queue.paused', switched),
    failedTokens: new FailedLogins({ trustedProxies: settings.server.trustedProxies }),
    now: () => clock.now(),
    logger,
  });
  const pauses = keptPauses({
    ...{ connection: commands, keyPrefix, queue, audit: acting.audit, logger },
    onPaused: (paused) => telemetry.emit('queue.paused', paused),
  });
  const stats = apiStats({
    isOn: settings.console.statistics,
    connection: commands,
    keyPrefix,
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
      keyPrefix,
      now: () => clock.now(),
    }),
    logger,
  });
  measureApi(telemetry, metrics.registry, {
    settings,
    live,
    queue,
    store,
    redis,
    memory,
    journal,
    openRequests: () => open.size,
    sockets: () => sockets,
    now: () => clock.now(),
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
    journal,
    index,
    queue,
    store,
    responses,
    bodies,
    sealing,
    open,
    readLimits,
    bodyBudget,
    sockets,
    acting,
    pauses,
    stats,
    reports,
  };
}
