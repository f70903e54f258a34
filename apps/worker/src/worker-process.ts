import { randomUUID } from 'node:crypto';
import type { Settings } from '@sluice/config';
import { type JournalWriter, openJournal } from '@sluice/journal';
import type { Provider } from '@sluice/providers';
import { queueName, QueueConsumer, QueueWatchdog, ResponseQueue } from '@sluice/queue';
import { defaultCell, type LetIn } from '@sluice/response-store';
import {
  closeRedis,
  createMetrics,
  FailedLogins,
  type HealthServer,
  type Logger,
  type Metrics,
  queueClient,
  RedisWatch,
  type RequestStop,
  type StopReason,
  startHealthServer,
  Telemetry,
  throttledWarning,
  untilRedisTakes,
} from '@sluice/runtime';
import type { ProcessStats } from '@sluice/service-stats';
import type { Traces } from '@sluice/traces';
import type { Redis } from 'ioredis';
import { AttemptRunner } from './attempt-runner.ts';
import type { Isolate } from './execute-response.ts';
import { type IsolatedChild, IsolatedRuns } from './isolation/isolated-runs.ts';
import { measureWorker } from './measure-worker.ts';
import { QueueLimits } from './queue-limits.ts';
import { Rescue } from './rescue-responses.ts';
import { RescueSchedule } from './rescue-schedule.ts';
import { logWorker } from './worker-log.ts';
import { workerStats } from './worker-stats.ts';

/** Of the time to drain, what is left for ending what did not finish. */
const abortShare = 0.8;

/** Of the time to drain, what the last traces may take. */
const traceShare = 0.05;

export interface WorkerProcessOptions {
  settings: Settings & { redisUrl: string };
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
  readonly #runner: AttemptRunner;
  readonly #journal: JournalWriter | undefined;
  readonly #isolated: IsolatedRuns;
  readonly #jobs: Redis;
  readonly #redis: RedisWatch;
  readonly #metrics: Metrics;
  readonly #worker: QueueConsumer;
  readonly #queue: ResponseQueue;
  readonly #limits: QueueLimits;
  readonly #watchdog: QueueWatchdog;
  readonly #rescue: RescueSchedule;
  readonly #stats: ProcessStats;
  #health: HealthServer | undefined;
  #hasStarted = false;
  #isStopping = false;
  #requestStop: RequestStop | undefined;

  constructor(options: WorkerProcessOptions) {
    this.#options = options;
    const { settings, providers, logger, now = () => performance.now() } = options;
    const { recovery } = settings;
    this.#metrics = createMetrics({ logger, labels: { role: 'worker' } });
    const telemetry = new Telemetry((error) => logger.error({ err: error }, 'telemetry listener failed'));
    logWorker(telemetry, logger);
    options.traces?.listen(telemetry, () => this.#runner.clock.now());
    const onLetIn = (letIn: readonly LetIn[]) => {
      for (const { responseId } of letIn) telemetry.emit('response.let_in', { responseId });
      this.#queue.letInAll(letIn);
    };
    const onCulprit = (responseId: string) => this.#blame(responseId);
    this.#isolated = new IsolatedRuns({
      ...{ settings, telemetry, logger, onCulprit, onLetIn },
      fork: options.forkIsolated,
    });
    const isolate: Isolate = (suspect) => this.#isolated.run(suspect);
    const holdQueue = (queue: string, forMs: number) => this.#worker.hold(queue, forMs);
    const parts = { settings, providers, telemetry, logger };
    this.#runner = new AttemptRunner({ ...parts, isolate, holdQueue, onLetIn, outputShare: 1 });
    this.#jobs = queueClient(settings.redisUrl, { logger });
    const { commands, ...others } = this.#runner.clients;
    this.#journal = openJournal(telemetry, {
      connection: commands,
      keyPrefix: this.#runner.store.keys.inCell(defaultCell).prefix,
      settings: settings.console,
      now: () => this.#runner.clock.now(),
      onDropped: throttledWarning(logger, 'journal not written').warn,
    });
    this.#redis = new RedisWatch({
      url: settings.redisUrl,
      commands,
      others: [...Object.values(others), this.#jobs],
      probeKey: this.#runner.store.keys.inCell(defaultCell).probe,
      logger,
    });
    const names = [...new Set(settings.models.map(({ queue }) => queueName(queue)))];
    const { warn } = throttledWarning(logger, 'queue error');
    const queueOptions = {
      keyPrefix: this.#runner.store.keys.inCell(defaultCell).prefix,
      names,
      // Until it has started, the start itself says what is wrong, once.
      onError: (error: Error) => {
        if (this.#hasStarted) warn(error);
      },
    };
    this.#worker = new QueueConsumer({
      ...queueOptions,
      connection: this.#jobs,
      concurrency: settings.workerConcurrency,
      lockMs: recovery.lockMs,
      stalledMs: recovery.stalledMs,
      keep: { completed: settings.dashboard.keepCompleted, failed: settings.dashboard.keepFailed },
      run: (responseId) => this.#runner.execute(responseId),
      onParked: (responseId) => this.#standInLine(responseId),
      onDefect: (error, responseId) => logger.error({ responseId, err: error }, 'attempt rejected'),
    });
    this.#queue = new ResponseQueue({
      ...queueOptions,
      connection: commands,
      onLetInFailed: (error, responseId) =>
        logger.warn({ responseId, err: error }, 'response not let into its queue'),
    });
    const { keyPrefix } = queueOptions;
    this.#limits = new QueueLimits({ settings, queue: this.#queue, connection: commands, keyPrefix, logger });
    this.#watchdog = new QueueWatchdog({
      queue: this.#queue,
      consumer: this.#worker,
      now,
      onStuck: (stuck) => {
        logger.error(stuck, 'nothing is taken from a queue that is not empty');
        this.#requestStop?.(new Error(`The worker takes nothing from the queue '${stuck.queue}'`));
      },
    });
    measureWorker(telemetry, this.#metrics.registry, {
      settings,
      runner: this.#runner,
      consumer: this.#worker,
      redis: this.#redis,
      journal: this.#journal,
    });
    this.#rescue = this.#scheduleRescue();
    this.#stats = workerStats({
      settings,
      runner: this.#runner,
      worker: this.#worker,
      telemetry,
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
    await untilRedisTakes(() => this.#limits.set(), signal);
    this.#limits.start();
    await this.#runner.start(signal);
    this.#hasStarted = true;
    this.#worker.start();
    this.#watchdog.start();
    this.#rescue.start();
    this.#stats.start();
    onReady({ healthPort: this.#health?.port });
  }

  /** Quiet, drain, abort: takes no new jobs, lets running ones finish, gives back or ends those that do not. */
  async stop(_reason: StopReason): Promise<void> {
    this.#isStopping = true;
    this.#stats.announce();
    this.#watchdog.stop();
    const rescueStopped = this.#rescue.stop();
    const graceMs = this.#options.settings.drainTimeoutMs * abortShare;
    const abort = setTimeout(() => this.#interruptAll(), graceMs);
    await this.#worker.quiet();
    await this.#worker.stop();
    clearTimeout(abort);
    await rescueStopped;
    await this.#isolated.stop();
    await Promise.all([this.#stats.stop(), this.#limits.stop()]);
    await this.#queue.close();
    const { traces } = this.#options;
    await Promise.all([
      this.#journal?.stop(),
      traces?.stop(this.#options.settings.drainTimeoutMs * traceShare),
    ]);
    await this.#health?.stop();
    this.#redis.stop();
    this.#metrics.stop();
    await Promise.all([this.#runner.stop(), closeRedis(this.#jobs)]);
  }

  #interruptAll(): void {
    this.#runner.running.interruptAll();
    this.#isolated.interruptAll();
  }

  /** A response that is not blamed, because the store is away, runs alone once more. */
  #blame(responseId: string): void {
    this.#runner.store.blame(responseId).catch((error: unknown) => {
      this.#options.logger.warn(
        { responseId, err: error },
        'response not blamed for the death of its process',
      );
    });
  }

  /** Until it is in its line, nothing lets it in; the rescue finds one that is in none. */
  #standInLine(responseId: string): void {
    this.#runner.store.standInLine(responseId).catch((error: unknown) => {
      this.#options.logger.warn({ responseId, err: error }, 'response not in its line');
    });
  }

  async #readiness() {
    const { running } = this.#runner;
    const isStoreReady = await this.#redis.isReady();
    return {
      isReady: isStoreReady && this.#worker.isRunning && !this.#isStopping,
      checks: { store: isStoreReady, taking_jobs: this.#worker.isRunning, running: running.size },
    };
  }

  #scheduleRescue(): RescueSchedule {
    const { logger } = this.#options;
    const { store, clock } = this.#runner;
    const storeNow = () => clock.now();
    const rescue = new Rescue({
      survey: (offset, count) => store.survey(defaultCell, { offset, count }),
      surveyDue: (count) => store.surveyDue(defaultCell, { now: storeNow(), count }),
      recount: () => store.recount(defaultCell),
      endQueued: async (responseId, end) => {
        await store.finishQueued(responseId, end);
      },
      endRunning: async (responseId) => {
        const claimed = await store.takeOver(responseId, randomUUID());
        // A worker that is alive after all is superseded; a response that may go on after all is given back.
        if (claimed.kind === 'end') await this.#runner.end(claimed.record, claimed.because);
        else if (claimed.kind === 'run') await this.#runner.giveBack(claimed.record);
      },
      queue: this.#queue,
      // Its claim sends one to its line that waits outside of its queue.
      priorityOf: async (responseId) => (await store.queuePriority(responseId)) ?? 1,
      standInLine: (responseId) => store.standInLine(responseId),
      farQueues: () => store.farQueues(defaultCell),
      // A queue of a model that this process does not serve is somebody else's.
      renumber: async (queue) =>
        this.#queue.names.includes(queue) && store.renumber(defaultCell, queue, this.#queue.order(queue)),
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
