import { randomUUID } from 'node:crypto';
import type { Settings } from '@sluice/config';
import type { Provider } from '@sluice/providers';
import { queueName, ResponseQueue, QueueConsumer } from '@sluice/queue';
import { AttemptStore, defaultCell } from '@sluice/response-store';
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
  Telemetry,
  throttledWarning,
  writerClient,
} from '@sluice/runtime';
import { endWithoutRun } from './end-without-run.ts';
import { executeResponse } from './execute-response.ts';
import { inOrder, type ModelRoute } from './model-routes.ts';
import { Rescue } from './rescue-responses.ts';
import { RescueSchedule } from './rescue-schedule.ts';
import { RunningAttempts } from './running-attempts.ts';
import { logWorker } from './worker-log.ts';
import { TurnBudget } from './turn-budget.ts';
import { countWorker } from './worker-metrics.ts';

/** Of the time to drain, what is left for ending what did not finish. */
const abortShare = 0.8;

/** No job stands behind an end that the rescue writes, so there is no lock to lose. */
const neverLost = new AbortController().signal;

export interface WorkerProcessOptions {
  settings: Settings & { redisUrl: string };
  /** Every upstream of the settings, by its id. Closed with the process. */
  providers: ReadonlyMap<string, Provider>;
  logger: Logger;
  /** Called once jobs are taken, with the port of the health listener if there is one. */
  onReady: (ready: { healthPort: number | undefined }) => void;
}

/**
 * A worker process: takes jobs of every model, runs their attempts, and looks after responses that other processes left
 * behind.
 */
export class WorkerProcess {
  readonly #options: WorkerProcessOptions;
  readonly #clients: ReturnType<typeof connectionsOf>;
  readonly #clock: RedisClock;
  readonly #metrics: Metrics;
  readonly #store: AttemptStore;
  readonly #running: RunningAttempts;
  readonly #worker: QueueConsumer;
  readonly #queue: ResponseQueue;
  readonly #rescue: RescueSchedule;
  #health: HealthServer | undefined;
  #hasStarted = false;
  #isStopping = false;

  constructor(options: WorkerProcessOptions) {
    this.#options = options;
    const { settings, logger } = options;
    const { timeouts, recovery, retention, keyPrefix } = settings;
    this.#clients = connectionsOf(settings.redisUrl, logger);
    const { commands, control, bulk, jobs, subscriber } = this.#clients;
    this.#clock = new RedisClock({ client: commands, logger });
    this.#metrics = createMetrics({ logger, labels: { role: 'worker' } });
    this.#store = new AttemptStore({
      commands,
      control,
      bulk,
      subscriber,
      keyPrefix,
      retention,
      processId: randomUUID(),
      totalMs: timeouts.totalMs,
      maxAttempts: recovery.maxAttempts,
      onEndAskedFor: (responseId) => this.#running.abort(responseId, 'cancelled'),
    });
    this.#running = new RunningAttempts({
      log: this.#store,
      onError: throttledWarning(logger, 'leases not checked').warn,
    });
    const telemetry = new Telemetry((error) => logger.error({ err: error }, 'telemetry listener failed'));
    logWorker(telemetry, logger);
    countWorker(telemetry, this.#metrics.registry, () => this.#running.size);
    const dependencies = {
      log: this.#store,
      chooseRoute: inOrder(routesOf(options)),
      running: this.#running,
      telemetry,
      turns: new TurnBudget(),
      now: () => performance.now(),
      storeNow: () => this.#clock.now(),
    };
    const names = [...new Set(settings.models.map(({ queue }) => queueName(queue)))];
    const { warn } = throttledWarning(logger, 'queue error');
    const queueOptions = {
      keyPrefix: this.#store.keys.inCell(defaultCell).prefix,
      names,
      // Until it has started, the start itself says what is wrong, once.
      onError: (error: Error) => {
        if (this.#hasStarted) warn(error);
      },
    };
    this.#worker = new QueueConsumer({
      ...queueOptions,
      connection: jobs,
      concurrency: settings.workerConcurrency,
      lockMs: recovery.lockMs,
      stalledMs: recovery.stalledMs,
      keep: { completed: settings.dashboard.keepCompleted, failed: settings.dashboard.keepFailed },
      run: (responseId, lost) => executeResponse(dependencies, responseId, lost),
      onDefect: (error, responseId) => logger.error({ responseId, err: error }, 'attempt rejected'),
    });
    this.#queue = new ResponseQueue({ ...queueOptions, connection: commands });
    this.#rescue = this.#scheduleRescue({
      endRunning: async (responseId) => {
        const claimed = await this.#store.claim(responseId, randomUUID());
        // A worker that is alive after all is superseded; a response that may go on after all is given back.
        if (claimed.kind === 'end')
          await endWithoutRun(dependencies, claimed.record, claimed.because, neverLost);
        else if (claimed.kind === 'run') await this.#store.release(claimed.record);
      },
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    const { settings, logger, onReady } = this.#options;
    const { redisUrl: url, workerHealthPort, server } = settings;
    await requireRedis(this.#clients.commands, { url, logger, signal });
    await this.#clock.start();
    await this.#limitConcurrency();
    await this.#store.start();
    if (workerHealthPort !== undefined) {
      this.#health = await startHealthServer({
        host: server.adminHost,
        port: workerHealthPort,
        hostSetting: 'ADMIN_HOST',
        portSetting: 'WORKER_HEALTH_PORT',
        logger,
        metrics: this.#metrics,
        token: server.adminToken,
        readiness: () => this.#readiness(),
      });
    }
    this.#hasStarted = true;
    this.#running.start();
    this.#worker.start();
    this.#rescue.start();
    onReady({ healthPort: this.#health?.port });
  }

  /** Quiet, drain, abort: takes no new jobs, lets running ones finish, gives back or ends those that do not. */
  async stop(_reason: StopReason): Promise<void> {
    this.#isStopping = true;
    const rescueStopped = this.#rescue.stop();
    const graceMs = this.#options.settings.drainTimeoutMs * abortShare;
    const abort = setTimeout(() => this.#running.interruptAll(), graceMs);
    await this.#worker.quiet();
    await this.#worker.stop();
    clearTimeout(abort);
    await rescueStopped;
    await this.#running.stop();
    this.#store.stop();
    await this.#queue.close();
    await this.#health?.stop();
    this.#clock.stop();
    this.#metrics.stop();
    await Promise.all([...this.#options.providers.values()].map((provider) => provider.close()));
    await Promise.all(Object.values(this.#clients).map((client) => closeRedis(client)));
  }

  /** Over all workers; each of them sets the same numbers, from the same file. */
  async #limitConcurrency(): Promise<void> {
    const { models } = this.#options.settings;
    const limits = new Map(models.map(({ queue, concurrency }) => [queueName(queue), concurrency]));
    for (const [name, concurrency] of limits) await this.#queue.limitConcurrency(name, concurrency);
  }

  async #readiness() {
    const { commands, jobs } = this.#clients;
    const isStoreReady = jobs.status === 'ready' && (await redisAnswers(commands));
    return {
      isReady: isStoreReady && this.#worker.isRunning && !this.#isStopping,
      checks: { store: isStoreReady, taking_jobs: this.#worker.isRunning, running: this.#running.size },
    };
  }

  #scheduleRescue({ endRunning }: { endRunning: (responseId: string) => Promise<void> }): RescueSchedule {
    const { logger } = this.#options;
    const store = this.#store;
    const storeNow = () => this.#clock.now();
    const rescue = new Rescue({
      survey: (offset, count) => store.survey(defaultCell, { offset, count }),
      surveyDue: (count) => store.surveyDue(defaultCell, { now: storeNow(), count }),
      recount: () => store.recount(defaultCell),
      endQueued: async (responseId, end) => {
        await store.finishQueued(responseId, end);
      },
      endRunning,
      queue: this.#queue,
      logger,
    });
    return new RescueSchedule({
      lead: (leaseMs) => store.leadRescue(defaultCell, leaseMs),
      nextDue: () => store.nextDue(defaultCell),
      rescue,
      storeNow,
      onError: throttledWarning(logger, 'rescue failed').warn,
    });
  }
}

/** One connection for each role; see `runtime/src/redis-clients.ts`. */
function connectionsOf(url: string, logger: Logger) {
  return {
    commands: commandClient(url, { logger }),
    control: writerClient(url, { logger, connectionName: 'sluice-control' }),
    bulk: writerClient(url, { logger }),
    jobs: queueClient(url, { logger }),
    subscriber: subscriberClient(url, { logger }),
  };
}

function routesOf({ settings, providers }: WorkerProcessOptions): Map<string, ModelRoute[]> {
  const routes = new Map<string, ModelRoute[]>();
  for (const { id, routes: configured } of settings.models) {
    const ofModel: ModelRoute[] = [];
    for (const { provider: providerId, model } of configured) {
      const provider = providers.get(providerId);
      if (provider) ofModel.push({ provider, model });
    }
    routes.set(id, ofModel);
  }
  return routes;
}
