import { randomUUID } from 'node:crypto';
import { LiveSettings, type OpenSettings, type Settings, type SettingsWatch } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import { queueName, ResponseQueue } from '@sluice/queue';
import { CallerStore, defaultCell } from '@sluice/response-store';
import {
  closeRedis,
  createMetrics,
  FailedLogins,
  loggedError,
  type Logger,
  type Metrics,
  RedisClock,
  RedisMemory,
  RedisWatch,
  type StopReason,
  Telemetry,
  throttledWarning,
} from '@sluice/runtime';
import { ContentSealer, SealingKeys } from '@sluice/sealed-content';
import { KeyStore } from '@sluice/stored-keys';
import type { FastifyInstance } from 'fastify';
import { buildAdminApp } from './admin/admin-app.ts';
import { logApi } from './api-log.ts';
import { countApi } from './api-metrics.ts';
import { buildApp } from './app.ts';
import { BodyBudget } from './bodies/body-budget.ts';
import { BodyThreads } from './bodies/body-threads.ts';
import { KeysInEffect } from './keys-in-effect.ts';
import { LeaseThread } from './lease/lease-thread.ts';
import { listen } from './listen.ts';
import { OpenRequests } from './open-requests.ts';
import { type RedisConnections, redisConnections } from './redis-connections.ts';
import { Responses } from './responses/responses.ts';
import { ReadLimits } from './read-limits.ts';
import { SocketConnections } from './websocket/socket-connections.ts';

/** Of the time to drain, what is left for ending what did not finish. */
const interruptShare = 0.8;

/** Of the time to drain, what is left for clients to take what was written to them. */
const lingerShare = 0.1;

/** How long a process that was told to stop still takes requests, so that load balancers notice first, in milliseconds. */
const announceMs = 1_000;

export interface ApiProcessOptions {
  settings: Settings & { redisUrl: string };
  /** Watches the file of the settings; without it they stay as they are. */
  watch?: OpenSettings['watch'];
  logger: Logger;
  /** Called once requests are answered, if only by a refusal: Redis may not be there yet. */
  onListening?: (listening: ApiAddresses) => void;
  /** Called once requests are taken. */
  onReady: (ready: ApiAddresses & { acceptsDevelopmentKey: boolean }) => void;
}

export interface ApiAddresses {
  url: string;
  adminUrl: string;
}

/**
 * An api process: takes requests, waits and streams, and holds nothing that another process would need.
 *
 * It listens before Redis is there and refuses what needs Redis meanwhile, so that a client gets an answer and an
 * operator a health check.
 */
export class ApiProcess {
  readonly #settings: ApiProcessOptions['settings'];
  readonly #live: LiveSettings;
  readonly #keys: KeysInEffect;
  readonly #watch: SettingsWatch | undefined;
  readonly #logger: Logger;
  readonly #onListening: ApiProcessOptions['onListening'];
  readonly #onReady: ApiProcessOptions['onReady'];
  readonly #connections: RedisConnections;
  readonly #clock: RedisClock;
  readonly #redis: RedisWatch;
  readonly #memory: RedisMemory;
  readonly #metrics: Metrics;
  readonly #queue: ResponseQueue;
  readonly #store: CallerStore;
  readonly #telemetry: Telemetry;
  readonly #responses: Responses;
  readonly #bodies: BodyThreads;
  readonly #sealing: SealingKeys;
  readonly #open = new OpenRequests();
  readonly #readLimits = new ReadLimits();
  readonly #bodyBudget = new BodyBudget(() => this.#live.limits.bodyBytesInFlight);
  readonly #sockets: SocketConnections;
  #app: FastifyInstance | undefined;
  #admin: FastifyInstance | undefined;
  #hasStarted = false;
  #isStopping = false;

  constructor({ settings, watch, logger, onListening, onReady }: ApiProcessOptions) {
    this.#settings = settings;
    this.#live = new LiveSettings({ ...settings, isComplete: false });
    this.#watch = watch?.({ apply: (changed) => this.#keys.takeSettings(changed), log: logger });
    this.#logger = logger;
    this.#onListening = onListening;
    this.#onReady = onReady;
    const { durability, timeouts } = settings;
    this.#connections = redisConnections(settings.redisUrl, { logger, hasBarrier: durability !== 'local' });
    const { commands, barrier, ...others } = this.#connections;
    this.#clock = new RedisClock({ client: commands, logger });
    this.#metrics = createMetrics({ logger, labels: { role: 'api' } });
    const { warn } = throttledWarning(logger, 'store error');
    // Until it has started, the start itself says what is wrong, once.
    const onError = (error: unknown) => {
      if (this.#hasStarted) warn(error);
    };
    this.#telemetry = new Telemetry((error) => logger.error({ err: error }, 'telemetry listener failed'));
    logApi(this.#telemetry, logger);
    this.#store = new CallerStore({
      ...this.#connections,
      keyPrefix: settings.keyPrefix,
      retention: settings.retention,
      durability:
        barrier && durability !== 'local'
          ? { durability, connection: barrier, withinMs: timeouts.durabilityMs }
          : undefined,
      processId: randomUUID(),
      leaseOver: (keys) => new LeaseThread({ redisUrl: settings.redisUrl, keys, onError }),
      onLetIn: (letIn) => this.#queue.letInAll(letIn),
      onError,
    });
    this.#redis = new RedisWatch({
      url: settings.redisUrl,
      commands,
      others: barrier ? [...Object.values(others), barrier] : Object.values(others),
      durability,
      probeKey: this.#store.keys.inCell(defaultCell).probe,
      logger,
    });
    this.#memory = new RedisMemory({ commands, onError });
    this.#keys = new KeysInEffect({
      settings,
      live: this.#live,
      store: new KeyStore({
        connection: commands,
        keyPrefix: this.#store.keys.inCell(defaultCell).prefix,
      }),
      logger,
    });
    this.#queue = new ResponseQueue({
      connection: commands,
      keyPrefix: this.#store.keys.inCell(defaultCell).prefix,
      names: [...new Set(settings.models.map(({ queue }) => queueName(queue)))],
      onError,
      onLetInFailed: (error) => onError(error),
    });
    countApi(this.#telemetry, this.#metrics.registry, {
      queue: this.#queue,
      openRequests: () => this.#open.size,
      sockets: () => this.#sockets,
    });
    this.#sealing = new SealingKeys({
      connection: commands,
      keyPrefix: this.#store.keys.inCell(defaultCell).prefix,
      secrets: settings.encryptionKeys,
      onError,
    });
    this.#bodies = new BodyThreads({
      bodyBytes: () => this.#live.limits.bodyBytes,
      sealingKeys: () => this.#sealing.all,
      onError: (error) => logger.warn({ err: loggedError(error) }, 'JSON thread ended'),
    });
    this.#responses = new Responses({
      settings,
      live: this.#live,
      store: this.#store,
      json: this.#bodies.reader,
      queue: this.#queue,
      sealerOf: (tenant) => new ContentSealer(this.#sealing.all, tenant),
      redisUsedPercent: () => this.#memory.usedPercent,
      telemetry: this.#telemetry,
      now: () => this.#acceptingNow(),
      logger,
    });
    this.#sockets = new SocketConnections({
      responses: this.#responses,
      live: this.#live,
      readLimits: this.#readLimits,
      open: this.#open,
      bodyBudget: this.#bodyBudget,
      json: this.#bodies.reader,
      logger,
      isEnabled: settings.server.webSockets,
      limits: settings.limits,
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    const { server } = this.#settings;
    const { trustedProxies } = server;
    await this.#keys.takeSettings(this.#settings);
    await this.#clock.start();
    // It listens for messages from the first connection on, and waits for that as long as it takes.
    const storeStarted = this.#store.start();
    storeStarted.catch(() => undefined); // It is awaited below, unless the start ends before.
    this.#app = buildApp({
      responses: this.#responses,
      live: this.#live,
      failedLogins: new FailedLogins({ trustedProxies }),
      readLimits: this.#readLimits,
      sockets: this.#sockets,
      open: this.#open,
      telemetry: this.#telemetry,
      readiness: () => this.#readiness(),
      isStopping: () => this.#isStopping,
      logger: this.#logger,
      bodyBudget: this.#bodyBudget,
      json: this.#bodies.reader,
      startedAt: Math.floor(this.#clock.now() / 1000),
    });
    this.#admin = await buildAdminApp({
      queue: this.#queue,
      registry: this.#metrics.registry,
      settings: this.#settings,
      store: this.#store,
      live: this.#live,
      token: server.adminToken,
      failedLogins: new FailedLogins({ trustedProxies }),
      logger: this.#logger,
    });
    const adminUrl = await listen(
      this.#admin,
      server.adminHost,
      server.adminPort,
      'ADMIN_HOST',
      'ADMIN_PORT',
    );
    const url = await listen(this.#app, server.host, server.port, 'HOST', 'PORT');
    this.#onListening?.({ url, adminUrl });
    await this.#redis.start(signal);
    await storeStarted;
    if (!this.#clock.isSynchronized) await this.#clock.sample();
    await this.#keys.start(signal);
    await this.#sealing.start();
    this.#hasStarted = true;
    this.#memory.start();
    this.#watch?.start();
    this.#onReady({ url, adminUrl, acceptsDevelopmentKey: this.#keys.acceptsDevelopmentKey });
  }

  /** Reads the settings file at once, and puts what changed in it into effect. */
  reload(): void {
    this.#watch?.reload();
  }

  /** Says that it stops, finishes what is under way, and ends what takes too long. */
  async stop(reason: StopReason): Promise<void> {
    this.#isStopping = true;
    let graceMs = this.#settings.drainTimeoutMs * interruptShare;
    if (reason === 'terminated' && this.#app) {
      // Part of the time to drain, not on top of it: past that the process is ended as it is.
      const announcing = Math.min(announceMs, graceMs / 2);
      await new Promise((resolve) => setTimeout(resolve, announcing));
      graceMs -= announcing;
    }
    const closing = this.#app?.close();
    this.#sockets.drain();
    await this.#open.drain(graceMs);
    // Whoever holds a connection now has its answer and does not read it, or never asked for anything.
    const cut = setTimeout(() => {
      this.#app?.server.closeAllConnections();
      this.#sockets.terminate();
    }, this.#settings.drainTimeoutMs * lingerShare);
    await closing;
    clearTimeout(cut);
    await this.#watch?.stop();
    await this.#keys.stop();
    await this.#sealing.stop();
    this.#redis.stop();
    this.#memory.stop();
    await this.#bodies.stop();
    await this.#responses.stop();
    await this.#store.stop();
    await this.#admin?.close();
    await this.#queue.close();
    this.#clock.stop();
    this.#metrics.stop();
    await Promise.all(Object.values(this.#connections).map((client) => closeRedis(client)));
  }

  /** The store's time for an accept, which needs the lease of this process and a synchronized clock. */
  #acceptingNow(): number {
    if (!this.#hasStarted) {
      throw new ServiceError('server_is_overloaded', 'The server cannot take requests at the moment.');
    }
    return this.#clock.now();
  }

  async #readiness() {
    const store = this.#hasStarted && (await this.#redis.isReady());
    return { isReady: store && !this.#isStopping, checks: { store, stopping: this.#isStopping } };
  }
}
