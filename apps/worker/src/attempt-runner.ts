import { randomUUID } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import type { Provider } from '@sluice/providers';
import type { Outcome } from '@sluice/queue';
import type { AttemptStores, ClaimedRecord, ClaimEnd } from '@sluice/response-store';
import { type Logger, type RedisClock, throttledWarning, untilRedisTakes } from '@sluice/runtime';
import { ContentSealer, SealingKeys } from '@sluice/response-store/sealed-content';
import {
  closeConnections,
  type ConnectedSettings,
  type LiveModels,
  type RunnerClients,
  sealingPlaces,
  type Wired,
} from '@sluice/wiring';
import { endWithoutRun } from './end-without-run.ts';
import { type ExecuteDependencies, executeResponse, type Isolate } from './execute-response.ts';
import { giveBack } from './give-back.ts';
import { InputBudget, inputBytesOfHeap, type WantedInput } from './input-budget.ts';
import { LargeWrites } from './large-writes.ts';
import { budgetOfHeap, OutputBudget, spareBytes } from './output-budget.ts';
import { JsonChecks } from './promises/json-checks.ts';
import { blockedMs } from './model-routes.ts';
import { allBlockedMs, type ModelsByQueue, modelsByQueue } from './models/models-by-queue.ts';
import { RunnerModels, type RunnerModelsOptions } from './models/runner-models.ts';
import { LeftToOthers } from './left-to-others.ts';
import { PostponedResponses } from './postponed-responses.ts';
import { RetryPauses } from './retry-pauses.ts';
import { withJitter } from './retry-delay.ts';
import { RunningAttempts } from './running-attempts.ts';
import { ServerLoads } from './servers/server-loads.ts';
import { TurnBudget } from './turn-budget.ts';
import { pressureOf, slotsOf } from './pressure/pressure-settings.ts';
import { type KnownUpstreams, UpstreamHealth } from './upstream-health.ts';
import { WaitsForRoom } from './waits-for-room.ts';

export interface AttemptRunnerOptions extends Pick<RunnerModelsOptions, 'createProvider'> {
  /** Their models are read at each use: those in effect and the removed ones that are still served. */
  settings: ConnectedSettings;
  /** Closed with the runner. Its store tells the runner of each end that is asked for (`endAskedFor`). */
  wired: Wired<RunnerClients, AttemptStores>;
  /** Names this process in its lease and in what is told of its attempts. */
  workerId: string;
  /** Every upstream of the settings, by its id. Closed with the runner. */
  providers: ReadonlyMap<string, Provider>;
  logger: Logger;
  /** Runs responses that may take their process down; undefined where they run in this process. */
  isolate: Isolate | undefined;
  /** The share of a worker's memory for inputs and answers that this process may use; 1 for all of it. */
  memoryShare: number;
  /** Takes no jobs of a queue for a while, in milliseconds, because none of them could run here. */
  holdQueue: (queue: string, forMs: number) => void;
  /** Called when this process has claims to release once Redis answers, and when it has none any more. */
  onReleases?: (arePending: boolean) => void;
}

/** Runs responses, whether their ids come from a queue or from the worker that started this process. */
export class AttemptRunner {
  readonly store: AttemptStores;
  readonly running: RunningAttempts;
  readonly clock: RedisClock;
  readonly health: UpstreamHealth;
  readonly #sealing: SealingKeys;
  readonly models: RunnerModels;
  #byQueue: ModelsByQueue;
  readonly #serverLoads: ServerLoads;
  readonly #jsonChecks: JsonChecks;
  readonly #postponed = new PostponedResponses({ now: () => performance.now() });
  readonly #ofOtherReleases = new LeftToOthers({ now: () => performance.now(), random: Math.random });
  readonly #ofUnknownModels = new LeftToOthers({ now: () => performance.now(), random: Math.random });
  readonly #options: AttemptRunnerOptions;
  readonly #inputBudget: InputBudget;
  readonly #waitsForRoom = new WaitsForRoom({ now: () => performance.now() });
  readonly #dependencies: ExecuteDependencies;

  constructor(options: AttemptRunnerOptions) {
    const { settings, wired, workerId, providers, logger, isolate } = options;
    this.#options = options;
    const { recovery } = settings;
    const { telemetry } = wired;
    const heapBytes = getHeapStatistics().heap_size_limit;
    this.#inputBudget = new InputBudget(inputBytesOfHeap(spareBytes(heapBytes), options.memoryShare));
    this.clock = wired.clock;
    this.store = wired.store;
    this.#sealing = new SealingKeys({
      ...sealingPlaces(wired),
      secrets: settings.encryptionKeys,
      onError: throttledWarning(logger, 'sealing key not read').warn,
    });
    this.running = new RunningAttempts({
      log: this.store,
      outageMs: recovery.outageMs,
      onError: throttledWarning(logger, 'leases not checked').warn,
      onReleases: options.onReleases,
    });
    const { createProvider } = options;
    this.models = new RunnerModels({
      settings,
      providers,
      createProvider,
      onServers: () => this.#takeRoutes(),
      onError: (error) => logger.warn({ err: error }, 'upstream not closed'),
    });
    this.#byQueue = modelsByQueue(settings);
    this.#serverLoads = new ServerLoads({
      share: (own) => this.store.shareCalls(own),
      onError: throttledWarning(logger, 'calls under way not shared').warn,
    });
    this.#serverLoads.isNeeded = this.models.haveServers;
    this.health = new UpstreamHealth({
      ...this.#knownUpstreams(),
      onSaturated: (provider) => this.#holdQueuesOf(provider),
      breaker: recovery.breaker,
      longestRetryAfterMs: recovery.longestRetryAfterMs,
      telemetry,
      now: () => performance.now(),
      random: Math.random,
    });
    this.#jsonChecks = new JsonChecks({
      onError: (error) => logger.warn({ err: error }, 'a check of an answer failed'),
    });
    this.#dependencies = {
      log: this.store,
      models: this.models,
      health: this.health,
      serverLoads: this.#serverLoads,
      postponed: this.#postponed,
      retryPauses: new RetryPauses({ slots: () => settings.workerConcurrency }),
      ofOtherReleases: this.#ofOtherReleases,
      ofUnknownModels: this.#ofUnknownModels,
      holdQueue: (queue) => this.#holdQueue(queue),
      outputLimits: settings.limits,
      jsonChecks: this.#jsonChecks,
      running: this.running,
      sealerOf: (tenant) => new ContentSealer(this.#sealing.all, tenant),
      contextTokensOf: (id) => settings.models.find((model) => model.id === id)?.contextTokens,
      telemetry,
      turns: new TurnBudget(),
      inputBudget: this.#inputBudget,
      waitsForRoom: this.#waitsForRoom,
      outputBudget: new OutputBudget(budgetOfHeap(heapBytes, options.memoryShare)),
      largeWrites: new LargeWrites(),
      isolate,
      traces: settings.traces && { propagates: settings.traces.propagates },
      workerId,
      outageMs: recovery.outageMs,
      openWaitMs: recovery.breaker.waitMs ?? Number.POSITIVE_INFINITY,
      longestRetryAfterMs: recovery.longestRetryAfterMs,
      now: () => performance.now(),
      random: Math.random,
      storeNow: () => this.clock.now(),
    };
  }

  /** Resolves when responses can be run, once Redis takes what that needs. Rejects with the reason of the signal. */
  async start(signal: AbortSignal): Promise<void> {
    for (const { clock } of this.#options.wired.cells.all) await clock.start();
    await this.store.start();
    await untilRedisTakes(() => this.#sealing.start(), signal);
    signal.throwIfAborted();
    this.running.start();
    this.health.start();
    this.models.start();
    this.#serverLoads.start();
  }

  /** Takes the models and upstreams in effect. Those of a changed file were made by `models.prepare`. Running attempts keep theirs. */
  take(live: LiveModels): void {
    this.models.take({ models: live.models, served: live.served, providers: live.servedProviders });
    this.#byQueue = modelsByQueue(this.#options.settings);
    this.#takeRoutes();
  }

  #takeRoutes(): void {
    this.health.take(this.#knownUpstreams());
    this.#serverLoads.isNeeded = this.models.haveServers;
  }

  #knownUpstreams(): KnownUpstreams {
    const { settings } = this.#options;
    return { routes: this.models.routes, ...pressureOf(settings), slotsOf: slotsOf(settings) };
  }

  /** Takes room for an input that a claim is about to read. False when there is none. */
  roomForInput(wanted: WantedInput): boolean {
    return this.#inputBudget.take(wanted, this.#waitsForRoom.inOrder());
  }

  /** Runs a response until it has its end, or until it must be given back. */
  execute(responseId: string): Promise<Outcome> {
    return executeResponse(this.#dependencies, responseId);
  }

  /** Ends a response that must not run, or not run again. */
  async end(record: ClaimedRecord, because: ClaimEnd): Promise<void> {
    await endWithoutRun(this.#dependencies, record, because);
  }

  /** Gives a claimed response back that was not run. */
  giveBack(record: Pick<ClaimedRecord, 'id' | 'token'>): Promise<void> {
    const { store: log, running } = this;
    return giveBack({ log, running }, record, { isCounted: false, isUnbegun: true });
  }

  /**
   * Ends a response that is cancelled. Nobody runs one that was given back for a while, so this ends it; the rescue does when
   * this fails.
   */
  endAskedFor(responseId: string): void {
    this.running.abort(responseId, 'cancelled');
    this.#waitsForRoom.delete(responseId);
    if (!this.#postponed.delete(responseId)) return;
    this.#endPostponed(responseId).catch((error: unknown) =>
      this.#options.logger.warn({ responseId, err: error }, 'postponed response not ended'),
    );
  }

  async #endPostponed(responseId: string): Promise<void> {
    const token = randomUUID();
    try {
      const claimed = await this.store.claim(responseId, token);
      if (claimed.kind === 'end') await this.end(claimed.record, claimed.because);
      else if (claimed.kind === 'run') await this.giveBack(claimed.record);
      else if (claimed.kind === 'no_room') await this.giveBack(claimed.held);
    } finally {
      this.#inputBudget.giveBack(token);
    }
  }

  /** Holds a queue while no model of it takes calls. */
  #holdQueue(queue: string): number {
    const holdMs = allBlockedMs(this.#byQueue.models.get(queue) ?? [], (id) =>
      blockedMs(this.models.routesOf(id) ?? [], (route) => this.health.blockOfAll(route)),
    );
    if (holdMs <= 0) return 0;
    this.#options.holdQueue(queue, withJitter(holdMs, Math.random));
    return holdMs;
  }

  /** Leaves jobs to other workers while the upstream of their models has too much to do. */
  #holdQueuesOf(provider: string): void {
    for (const queue of this.#byQueue.queues.get(provider) ?? []) this.#holdQueue(queue);
  }

  /** Closes everything. Nothing may run any more. */
  async stop(): Promise<void> {
    await this.#serverLoads.stop();
    await this.health.stop();
    await this.running.stop();
    await this.#jsonChecks.stop();
    await this.#sealing.stop();
    await this.store.stop();
    await this.models.close();
    await closeConnections(this.#options.wired);
  }
}
