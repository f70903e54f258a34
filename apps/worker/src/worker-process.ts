import { randomUUID } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import type { Provider } from '@sluice/providers';
import type { AttemptStores } from '@sluice/response-store';
import {
  createMetrics,
  FailedLogins,
  type HealthServer,
  type Logger,
  type Metrics,
  type RequestStop,
  type StopReason,
  startHealthServer,
  throttledWarning,
  untilRedisTakes,
} from '@sluice/runtime';
import type { ProcessStats } from '@sluice/service-stats';
import type { Traces } from '@sluice/traces';
import {
  connect,
  type ConnectedSettings,
  type RedisWatches,
  watchRedis,
  type Wired,
  type WorkerClients,
  workerRole,
  startFromFirstCell,
  stopForLate,
} from '@sluice/wiring';
import { AttemptRunner, type AttemptRunnerOptions } from './attempt-runner.ts';
import { limitsOfCells, type WorkerLimits } from './cells/limits-of-cells.ts';
import { WorkerCells } from './cells/worker-cells.ts';
import { type IsolatedChild, IsolatedRuns } from './isolation/isolated-runs.ts';
import { keptTurnsBytesOfHeap } from './input-budget.ts';
import { measureWorker } from './measure-worker.ts';
import { WorkerModels, type WorkerModelsOptions } from './models/worker-models.ts';
import { spareBytes } from './output-budget.ts';
import { logWorker } from './worker-log.ts';
import { workerStats } from './worker-stats.ts';
import { WorkerWebhooks, type WorkerWebhooksOptions } from './worker-webhooks.ts';

/** Running attempts have this share of the drain time. The rest is for ending those that did not finish. */
const abortShare = 0.8;

/** The last traces may take this share of the drain time. */
const traceShare = 0.05;

export interface WorkerProcessOptions
  extends Pick<AttemptRunnerOptions, 'createProvider'>,
    Pick<WorkerModelsOptions, 'watch' | 'askForModels'>,
    Pick<WorkerWebhooksOptions, 'sendEvent'> {
  settings: ConnectedSettings;
  /** Every upstream of the settings, by its id. Closed with the process. */
  providers: ReadonlyMap<string, Provider>;
  /** Stopped with the process. Absent while traces are off. */
  traces?: Traces | undefined;
  logger: Logger;
  /** For durations, in milliseconds; `performance.now` by default. */
  now?: () => number;
  /** Starts a process for suspects; see `IsolatedRuns`. */
  forkIsolated?: () => IsolatedChild;
  /** Called once jobs are taken, with the port of the health listener if there is one. */
  onReady: (ready: { healthPort: number | undefined }) => void;
}

/**
 * A worker process: takes jobs of every model, runs their attempts, and looks after responses that other processes left
 * behind.
 */
export class WorkerProcess {
  readonly #options: WorkerProcessOptions;
  readonly #wired: Wired<WorkerClients, AttemptStores>;
  readonly #models: WorkerModels;
  readonly #runner: AttemptRunner;
  readonly #isolated: IsolatedRuns;
  readonly #redis: RedisWatches;
  readonly #metrics: Metrics;
  readonly #cells: WorkerCells;
  readonly #limits: WorkerLimits;
  readonly #stats: ProcessStats;
  /** Undefined where webhooks are switched off. */
  readonly #webhooks: WorkerWebhooks | undefined;
  #health: HealthServer | undefined;
  #hasStarted = false;
  #isStopping = false;
  #requestStop: RequestStop | undefined;

  constructor(options: WorkerProcessOptions) {
    this.#options = options;
    const { providers, logger, sendEvent, now = () => performance.now() } = options;
    this.#metrics = createMetrics({ logger, labels: { role: 'worker' } });
    const workerId = randomUUID();
    const role = workerRole({
      processId: workerId,
      onEndAskedFor: (responseId) => this.#runner.endAskedFor(responseId),
      roomForInput: (wanted) => this.#runner.roomForInput(wanted),
      keptTurnsBytes: keptTurnsBytesOfHeap(spareBytes(getHeapStatistics().heap_size_limit)),
      onError: throttledWarning(logger, 'lease not renewed').warn,
    });
    const { warn } = throttledWarning(logger, 'queue error');
    const onQueueError = (error: Error) => {
      // Until it has started, the start itself says what is wrong, once.
      if (this.#hasStarted) warn(error);
    };
    this.#wired = connect(options.settings, role, { logger, onQueueError });
    const { telemetry, clock, letInAll, cells } = this.#wired;
    this.#models = new WorkerModels({ ...options, wired: this.#wired });
    const { settings } = this.#models;
    logWorker(telemetry, logger);
    options.traces?.listen(telemetry, () => clock.now());
    const onCulprit = (responseId: string) => this.#blame(responseId);
    this.#isolated = new IsolatedRuns({
      settings,
      telemetry,
      logger,
      onCulprit,
      onLetIn: letInAll,
      cells,
      fork: options.forkIsolated,
    });
    this.#runner = new AttemptRunner({
      settings,
      wired: this.#wired,
      workerId,
      providers,
      createProvider: options.createProvider,
      logger,
      isolate: (suspect) => this.#isolated.run(suspect),
      holdQueue: (held, forMs) => this.#cells.hold(held, forMs),
      memoryShare: 1,
    });
    this.#redis = watchRedis(this.#wired, { logger });
    this.#limits = limitsOfCells({ limits: () => this.#models.queueLimits, cells, workerId, logger });
    this.#cells = new WorkerCells({
      settings,
      cells,
      runner: this.#runner,
      limits: this.#limits,
      logger,
      now,
      onQueueError,
      onStuck: (stuck) => this.#stopForStuck(stuck),
    });
    this.#models.follow({
      runner: this.#runner,
      isolated: this.#isolated,
      limits: this.#limits,
      consumer: this.#cells,
    });
    measureWorker(telemetry, this.#metrics.registry, {
      settings,
      wired: this.#wired,
      runner: this.#runner,
      consumer: this.#cells,
      redis: this.#redis,
    });
    if (settings.webhooks.enabled) {
      this.#webhooks = new WorkerWebhooks({ settings, wired: this.#wired, workerId, sendEvent, logger });
    }
    this.#stats = workerStats({
      settings,
      wired: this.#wired,
      runner: this.#runner,
      worker: this.#cells,
      isStopping: () => this.#isStopping,
      logger,
    });
  }

  /**
   * Answers health checks at once, and takes jobs as soon as Redis is there, however long that takes. `requestStop` is
   * called with an error when the process takes no jobs any more and should be replaced.
   */
  async start(signal: AbortSignal, requestStop?: RequestStop): Promise<void> {
    const { settings, logger, onReady } = this.#options;
    const { workerHealthPort, server } = settings;
    this.#requestStop = requestStop;
    if (workerHealthPort !== undefined) {
      this.#health = await startHealthServer({
        host: server.adminHost,
        port: workerHealthPort,
        hostSetting: 'ADMIN_HOST',
        portSetting: 'WORKER_HEALTH_PORT',
        logger,
        metrics: this.#metrics,
        token: server.adminToken,
        failedLogins: new FailedLogins({ trustedProxies: server.trustedProxies }),
        readiness: () => this.#readiness(),
        reports: new Map([['/upstreams', () => ({ upstreams: this.#runner.health.status() })]]),
      });
      logger.info({ healthPort: this.#health.port }, 'worker listening');
    }
    await this.#redis.start(signal);
    const { cells, cellWatch } = this.#wired;
    const onLate = stopForLate(requestStop, signal);
    const startFromFirst = async () => {
      await cellWatch.start(signal);
      await untilRedisTakes(() => this.#limits.set(), signal);
    };
    const isThere = await startFromFirstCell(cells.all.length, startFromFirst, onLate);
    this.#limits.start();
    await this.#runner.start(signal);
    const discovered = this.#models.discover(signal);
    if (isThere) await startFromFirstCell(cells.all.length, () => discovered, onLate);
    else discovered.catch(onLate);
    this.#hasStarted = true;
    this.#cells.start();
    this.#stats.start();
    this.#models.start();
    this.#webhooks?.start();
    onReady({ healthPort: this.#health?.port });
  }

  /** Reads the settings file at once, and puts what changed in it into effect. */
  reload(): void {
    this.#models.reload();
  }

  /** Quiet, drain, abort: takes no new jobs, lets running ones finish, gives back or ends those that do not. */
  async stop(_reason: StopReason): Promise<void> {
    this.#isStopping = true;
    this.#stats.announce();
    const changesStopped = this.#models.stop();
    const rescueStopped = this.#cells.stopRescue();
    const graceMs = this.#options.settings.drainTimeoutMs * abortShare;
    const abort = setTimeout(() => this.#interruptAll(), graceMs);
    await this.#cells.quiet();
    // No cell joins a process that stops.
    await this.#wired.cellWatch.stop();
    await this.#cells.stop();
    clearTimeout(abort);
    await Promise.all([rescueStopped, changesStopped]);
    await this.#isolated.stop();
    await this.#webhooks?.stop();
    await Promise.all([this.#stats.stop(), this.#limits.stop()]);
    await this.#options.traces?.stop(this.#options.settings.drainTimeoutMs * traceShare);
    await this.#health?.stop();
    this.#redis.stop();
    this.#metrics.stop();
    await this.#runner.stop();
  }

  #stopForStuck(stuck: { queue: string }): void {
    this.#options.logger.error(stuck, 'nothing is taken from a queue that is not empty');
    this.#requestStop?.(new Error(`The worker takes nothing from the queue '${stuck.queue}'`));
  }

  #interruptAll(): void {
    this.#runner.running.interruptAll();
    this.#isolated.interruptAll();
  }

  /** A response that is not blamed, because the store is away, runs alone once more. */
  #blame(responseId: string): void {
    this.#wired.store.blame(responseId).catch((error: unknown) => {
      this.#options.logger.warn(
        { responseId, err: error },
        'response not blamed for the death of its process',
      );
    });
  }

  async #readiness() {
    const { running } = this.#runner;
    const isStoreReady = await this.#redis.isReady();
    return {
      isReady: isStoreReady && this.#cells.isRunning && !this.#isStopping,
      checks: { store: isStoreReady, taking_jobs: this.#cells.isRunning, running: running.size },
    };
  }
}
