import { randomUUID } from 'node:crypto';
import type { Settings } from '@sluice/config';
import { endQueued, type RedisKeys, redisKeys, survey } from '@sluice/event-log';
import { createProvider, type Provider } from '@sluice/providers';
import { queueName, ResponseQueue, ResponseWorker } from '@sluice/queue';
import {
  closeRedis,
  commandClient,
  createMetrics,
  type HealthServer,
  type Logger,
  type Metrics,
  queueClient,
  redisAnswers,
  RedisClock,
  requireRedis,
  type StopReason,
  startHealthServer,
  subscriberClient,
  throttledWarning,
  writerClient,
} from '@sluice/runtime';
import type { Redis } from 'ioredis';
import { endRunning } from './end-running.ts';
import { type ExecuteDependencies, executeResponse } from './execute-response.ts';
import { redisResponseLog } from './redis-response-log.ts';
import { Rescue } from './rescue-responses.ts';
import { type Route, routeTable } from './routes.ts';
import { RunningAttempts } from './running-attempts.ts';
import { workerMetrics } from './worker-metrics.ts';

/** How often abandoned responses are looked for, and how long one process keeps the right to, in milliseconds. */
const rescueEveryMs = 5_000;
const rescueLockMs = 4_500;

/** Of the time to drain, what is left for ending what did not finish. */
const abortShare = 0.8;

export interface WorkerOptions {
  settings: Settings & { redisUrl: string };
  logger: Logger;
  /** Called once jobs are taken, with the port of the health listener if there is one. */
  onReady: (ready: { healthPort: number | undefined }) => void;
}

/**
 * A worker process: takes jobs of every model, runs their attempts, and looks after responses that other
 * processes left behind.
 */
export class ResponseWorkerProcess {
  readonly #settings: WorkerOptions['settings'];
  readonly #logger: Logger;
  readonly #onReady: WorkerOptions['onReady'];
  readonly #keys: RedisKeys;
  readonly #channel: string;
  readonly #clients: { commands: Redis; writer: Redis; jobs: Redis; doorbell: Redis };
  readonly #providers: Map<string, Provider>;
  readonly #clock: RedisClock;
  readonly #metrics: Metrics;
  readonly #running: RunningAttempts;
  readonly #worker: ResponseWorker;
  readonly #queue: ResponseQueue;
  readonly #rescue: Rescue;
  readonly #warnOfRescue: (error: unknown) => void;
  #health: HealthServer | undefined;
  #rescueTimer: NodeJS.Timeout | undefined;
  #rescuing: Promise<void> | undefined;
  #hasStarted = false;
  #isStopping = false;

  constructor({ settings, logger, onReady }: WorkerOptions) {
    this.#settings = settings;
    this.#logger = logger;
    this.#onReady = onReady;
    this.#warnOfRescue = throttledWarning(logger, 'rescue failed').warn;
    this.#keys = redisKeys(settings.keyPrefix);
    this.#channel = this.#keys.workerProcess(randomUUID());
    this.#clients = {
      commands: commandClient(settings.redisUrl, { logger }),
      writer: writerClient(settings.redisUrl, { logger }),
      jobs: queueClient(settings.redisUrl, { logger }),
      doorbell: subscriberClient(settings.redisUrl, { logger }),
    };
    this.#providers = new Map(
      settings.providers.map((provider) => [provider.id, createProvider(provider, settings.timeouts)]),
    );
    this.#clock = new RedisClock({ client: this.#clients.commands, logger });
    this.#metrics = createMetrics({ logger, labels: { role: 'worker' } });
    const log = redisResponseLog({
      redis: this.#clients.writer,
      keys: this.#keys,
      workerChannel: this.#channel,
      totalMs: settings.timeouts.totalMs,
      maxAttempts: settings.recovery.maxAttempts,
      retention: settings.retention,
    });
    this.#running = new RunningAttempts({
      log,
      onError: throttledWarning(logger, 'leases not checked').warn,
    });
    const observer = workerMetrics(this.#metrics.registry, () => this.#running.size);
    const names = [...new Set(settings.models.map(({ queue }) => queueName(queue)))];
    const { warn } = throttledWarning(logger, 'queue error');
    // Until it has started, the start itself says what is wrong, once.
    const onError = (error: Error) => {
      if (this.#hasStarted) warn(error);
    };
    const keyPrefix = this.#keys.prefix;
    const route = routeTable(this.#routes());
    const dependencies = {
      log,
      route,
      running: this.#running,
      observer,
      logger,
      now: () => performance.now(),
      storeNow: () => this.#clock.now(),
    };
    this.#worker = new ResponseWorker({
      connection: this.#clients.jobs,
      keyPrefix,
      names,
      concurrency: settings.workerConcurrency,
      lockMs: settings.recovery.lockMs,
      stalledMs: settings.recovery.stalledMs,
      run: (responseId, lost) => executeResponse(dependencies, responseId, lost),
      onError,
      onDefect: (error, responseId) => logger.error({ responseId, err: error }, 'attempt rejected'),
    });
    const keep = { completed: settings.dashboard.keepCompleted, failed: settings.dashboard.keepFailed };
    this.#queue = new ResponseQueue({ connection: this.#clients.commands, keyPrefix, names, keep, onError });
    this.#rescue = this.#createRescue(dependencies);
  }

  async start(signal: AbortSignal): Promise<void> {
    const { redisUrl: url, workerHealthPort } = this.#settings;
    await requireRedis(this.#clients.commands, { url, logger: this.#logger, signal });
    await this.#clock.start();
    await this.#limitConcurrency();
    const { doorbell } = this.#clients;
    doorbell.on('message', (_channel, responseId) => this.#running.abort(responseId, 'cancelled'));
    await doorbell.subscribe(this.#channel);
    if (workerHealthPort !== undefined) {
      this.#health = await startHealthServer({
        host: this.#settings.server.adminHost,
        port: workerHealthPort,
        hostSetting: 'ADMIN_HOST',
        portSetting: 'WORKER_HEALTH_PORT',
        logger: this.#logger,
        metrics: this.#metrics,
        readiness: () => this.#readiness(),
      });
    }
    this.#hasStarted = true;
    this.#running.start();
    this.#worker.start();
    this.#rescueTimer = setInterval(() => this.#rescueRound(), rescueEveryMs);
    this.#onReady({ healthPort: this.#health?.port });
  }

  /** Quiet, drain, abort: takes no new jobs, lets running ones finish, gives back or ends those that do not. */
  async stop(_reason: StopReason): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#rescueTimer);
    this.#rescue.stop();
    const abort = setTimeout(() => this.#running.interruptAll(), this.#settings.drainTimeoutMs * abortShare);
    await this.#worker.quiet();
    await this.#worker.stop();
    clearTimeout(abort);
    await this.#rescuing;
    await this.#running.stop();
    await this.#queue.close();
    await this.#health?.stop();
    this.#clock.stop();
    this.#metrics.stop();
    await Promise.all([...this.#providers.values()].map((provider) => provider.close()));
    await Promise.all(Object.values(this.#clients).map((client) => closeRedis(client)));
  }

  #routes(): Map<string, Route[]> {
    const routes = new Map<string, Route[]>();
    for (const { id, routes: configured } of this.#settings.models) {
      const ofModel: Route[] = [];
      for (const { provider: providerId, model } of configured) {
        const provider = this.#providers.get(providerId);
        if (provider) ofModel.push({ provider, model });
      }
      routes.set(id, ofModel);
    }
    return routes;
  }

  /** Over all workers; each of them sets the same numbers, from the same file. */
  async #limitConcurrency(): Promise<void> {
    const limits = new Map(
      this.#settings.models.map(({ queue, concurrency }) => [queueName(queue), concurrency]),
    );
    for (const [name, concurrency] of limits) await this.#queue.limitConcurrency(name, concurrency);
  }

  async #readiness() {
    const isStoreReady =
      this.#clients.jobs.status === 'ready' && (await redisAnswers(this.#clients.commands));
    return {
      isReady: isStoreReady && this.#worker.isRunning && !this.#isStopping,
      checks: { store: isStoreReady, taking_jobs: this.#worker.isRunning, running: this.#running.size },
    };
  }

  #createRescue(dependencies: ExecuteDependencies): Rescue {
    const { commands } = this.#clients;
    return new Rescue({
      elect: async () => (await commands.set(this.#keys.rescueLock, '1', 'PX', rescueLockMs, 'NX')) === 'OK',
      survey: (offset, count) => survey(commands, this.#keys, { offset, count }),
      endQueued: async (responseId, end) => {
        await endQueued(commands, this.#keys, responseId, end, this.#settings.retention);
      },
      endRunning: (responseId) => endRunning(dependencies, responseId),
      queue: this.#queue,
      logger: this.#logger,
    });
  }

  #rescueRound(): void {
    this.#rescuing ??= this.#rescue
      .round()
      .then(() => undefined)
      .catch(this.#warnOfRescue)
      .finally(() => {
        this.#rescuing = undefined;
      });
  }
}
