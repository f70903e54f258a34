import type { OpenSettings, SettingsWatch } from '@sluice/config';
import type { Files } from '@sluice/files';
import type { Operator } from '@sluice/operator';
import type { CallerStores } from '@sluice/response-store';
import {
  createMetrics,
  loggedError,
  type Logger,
  type Metrics,
  type RedisClock,
  throttledWarning,
} from '@sluice/runtime';
import { ContentSealer, SealingKeys } from '@sluice/response-store/sealed-content';
import type { ProcessStats } from '@sluice/service-stats';
import { LiveSettings, Tenants } from '@sluice/tenants';
import type { Traces } from '@sluice/traces';
import { openEndpoints, type WebhookEndpoints } from '@sluice/webhooks';
import {
  type ApiClients,
  apiRole,
  type ApiRoleOptions,
  connect,
  type ConnectedSettings,
  type ConnectOptions,
  type LiveModels,
  ModelChanges,
  ModelDiscovery,
  ModelStore,
  openModels,
  ProviderChanges,
  StoredWatch,
  type RedisWatches,
  sealingPlaces,
  watchRedis,
  type Wired,
} from '@sluice/wiring';
import { logApi } from './api-log.ts';
import { makeApiOperator } from './api-operator.ts';
import { measureApi } from './measure-api.ts';
import { apiStats } from './api-stats.ts';
import { ApiUsage } from './api-usage.ts';
import { ApiBatches } from './batches/api-batches.ts';
import { BodyBudget } from './bodies/body-budget.ts';
import { BodyThreads } from './bodies/body-threads.ts';
import { CellMemories, type Memory } from './cell-memories.ts';
import { openFiles } from './open-files.ts';
import { keyNames } from './key-names.ts';
import { LeaseThread } from './lease/lease-thread.ts';
import { OpenRequests } from './open-requests.ts';
import { ReadLimits } from './read-limits.ts';
import { hostedToolsOf } from './responses/model-directory.ts';
import { Responses } from './responses/responses.ts';
import type { SocketTimes } from './websocket/socket-connection.ts';
import { SocketConnections } from './websocket/socket-connections.ts';

export interface ApiPartsOptions {
  settings: ConnectedSettings;
  /** Watches the file of the settings; without it they stay as they are. */
  watch?: OpenSettings['watch'];
  /** Absent while traces are off. */
  traces?: Traces | undefined;
  logger: Logger;
  /** Until it has started, the start itself says what is wrong with Redis, once. */
  hasStarted: () => boolean;
  isStopping: () => boolean;
  /** The store's time, in milliseconds, for what is accepted and for files. Throws while nothing can be accepted. */
  acceptingNow: (clock: RedisClock) => number;
  /** Parts of a test, in place of those that the settings do not reach. */
  replaced?: ReplacedParts;
}

export interface ReplacedParts extends Pick<ConnectOptions<ApiClients>, 'clients' | 'onListenerError'> {
  leaseOver?: ApiRoleOptions['leaseOver'];
  memory?: ApiParts['memory'];
  /** How long a thread may take for one body, in milliseconds. */
  threadMs?: number;
  socketTimes?: Partial<SocketTimes>;
  /** Requests that may be open at once; see `OpenRequests`. */
  mostCallers?: number;
  indexHealEveryMs?: number;
  lookForKeysEveryMs?: number;
}

/** What an api process is made of, connected but not started. `ApiProcess` starts and stops it. */
export interface ApiParts extends Wired<ApiClients, CallerStores> {
  /** Their models and providers are, at each reading, those in effect. */
  settings: ConnectedSettings;
  /** The same with the removed models that are still served. */
  served: ConnectedSettings;
  live: LiveSettings;
  models: LiveModels;
  discovery: ModelDiscovery;
  storedModels: StoredWatch;
  modelChanges: ModelChanges;
  providerChanges: ProviderChanges;
  tenants: Tenants;
  watch: SettingsWatch | undefined;
  redis: RedisWatches;
  memory: Memory & Pick<CellMemories, 'start' | 'stop'>;
  metrics: Metrics;
  responses: Responses;
  bodies: BodyThreads;
  sealing: SealingKeys;
  open: OpenRequests;
  readLimits: ReadLimits;
  bodyBudget: BodyBudget;
  sockets: SocketConnections;
  operator: Operator;
  webhooks: WebhookEndpoints | undefined;
  usage: ApiUsage | undefined;
  files: Files | undefined;
  batches: ApiBatches | undefined;
  stats: ProcessStats;
}

/** Makes the parts of an api process and connects them with each other. */
export function makeApiParts({
  settings: started,
  watch,
  traces,
  logger,
  hasStarted,
  isStopping,
  acceptingNow,
  replaced = {},
}: ApiPartsOptions): ApiParts {
  // Keys are given their expiry by the clock of the store.
  const live = new LiveSettings({ ...started, isComplete: false, now: () => clock.now() });
  const settingsWatch = watch?.({
    apply: async (changed) => {
      await tenants.takeSettings(changed);
      models.replace(changed);
    },
    log: logger,
  });
  const open = new OpenRequests(replaced.mostCallers);
  const readLimits = new ReadLimits();
  const bodyBudget = new BodyBudget(() => live.limits.bodyBytesInFlight);
  const metrics = createMetrics({ logger, labels: { role: 'api' } });
  const { warn } = throttledWarning(logger, 'store error');
  const onError = (error: unknown) => {
    if (hasStarted()) warn(error);
  };
  const leaseOver = (keys: readonly string[], redisUrl: string) =>
    new LeaseThread({ redisUrl, keys, onError });
  const role = apiRole({ leaseOver: replaced.leaseOver ?? leaseOver, onError });
  const wired = connect(started, role, { ...replaced, logger, onQueueError: onError });
  const { clock, telemetry, store, queue, journal, keyPrefix } = wired;
  const { commands } = wired.clients;
  const models = openModels(started, queue);
  const settings = models.inSettings(started);
  // An operator also sees and empties the queue of a model that was removed, while it is still served.
  const served = models.servedInSettings(started);
  const modelStore = new ModelStore({ connection: commands, keyPrefix });
  const changes = { store: modelStore, file: () => models.file, timeouts: settings.timeouts };
  const modelChanges = new ModelChanges(changes);
  const providerChanges = new ProviderChanges(changes);
  const storedModels = new StoredWatch({ store: modelStore, live: models, logger });
  const discovery = new ModelDiscovery({ live: models, clock, connection: commands, keyPrefix, logger });
  logApi(telemetry, logger);
  traces?.listen(telemetry, () => clock.now());
  const redis = watchRedis(wired, { logger, durability: settings.durability });
  const memories = new CellMemories(wired.cells, onError);
  const memory = replaced.memory ?? memories;
  const memoryOf = (responseId: string) => replaced.memory ?? memories.of(responseId);
  const tenants = new Tenants({
    settings: started,
    live,
    connection: commands,
    keyPrefix,
    store,
    logger,
    redisBytes: () => memory.used?.limitBytes,
    isSafe: () => wired.cells.first.store.isDurable(),
    lookEveryMs: replaced.lookForKeysEveryMs,
  });
  const sealing = new SealingKeys({
    ...sealingPlaces(wired),
    secrets: settings.encryptionKeys,
    onError,
  });
  const bodies = new BodyThreads({
    ...(replaced.threadMs !== undefined && { withinMs: replaced.threadMs }),
    bodyBytes: () => live.limits.bodyBytes,
    sealingKeys: () => sealing.all,
    hostedTools: () => hostedToolsOf(settings.models),
    onError: (error) => logger.warn({ err: loggedError(error) }, 'JSON thread ended'),
  });
  // They expire by the clock of the store, for every api at the same time.
  const files = openFiles(settings, { now: () => acceptingNow(clock), logger });
  const webhooks = openEndpoints(settings.webhooks, {
    connection: commands,
    keyPrefix,
    now: () => clock.now(),
  });
  const responses = new Responses({
    settings,
    files,
    webhooks,
    live,
    store,
    json: bodies.reader,
    queue,
    sealerOf: (tenant) => new ContentSealer(sealing.all, tenant),
    memoryOf,
    telemetry,
    now: (responseId) => acceptingNow(responseId === undefined ? clock : wired.cells.of(responseId).clock),
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
    ...(replaced.socketTimes && { times: replaced.socketTimes }),
  });
  const operator = makeApiOperator({
    ...{ ...wired, live, tenants, memory, redis, responses, bodies, bodyBudget, logger },
    settings: served,
    models,
    modelChanges,
    providerChanges,
    indexHealEveryMs: replaced.indexHealEveryMs,
    onError,
  });
  const stats = apiStats({
    isOn: settings.console.statistics,
    connection: commands,
    keyPrefix,
    telemetry,
    hasModel: (id) => models.serves(id),
    clock,
    isStopping,
    openRequests: () => open.size,
    webSockets: () => sockets.size,
    logger,
  });
  measureApi(telemetry, metrics.registry, {
    settings: served,
    queueLimits: () => models.queueLimits,
    live,
    queue,
    store,
    redis,
    memories,
    journal,
    openRequests: () => open.size,
    sockets: () => sockets,
    now: () => clock.now(),
  });
  return {
    ...wired,
    settings,
    served,
    live,
    models,
    discovery,
    storedModels,
    modelChanges,
    providerChanges,
    tenants,
    watch: settingsWatch,
    redis,
    memory,
    metrics,
    responses,
    bodies,
    sealing,
    open,
    readLimits,
    bodyBudget,
    sockets,
    operator,
    webhooks,
    usage: settings.usage.enabled
      ? new ApiUsage({ settings, wired, keys: keyNames(() => tenants.known), logger })
      : undefined,
    files,
    batches:
      files &&
      new ApiBatches({
        ...{ settings, wired, files, queue, responses, live, bodyBudget, logger },
        json: bodies.reader,
      }),
    stats,
  };
}
