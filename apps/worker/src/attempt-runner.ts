import { randomUUID } from 'node:crypto';
import type { Settings } from '@sluice/config';
import type { Provider } from '@sluice/providers';
import type { Outcome } from '@sluice/queue';
import { AttemptStore, type ClaimedRecord, type ClaimEnd } from '@sluice/response-store';
import {
  closeRedis,
  commandClient,
  type Logger,
  RedisClock,
  subscriberClient,
  type Telemetry,
  throttledWarning,
  writerClient,
} from '@sluice/runtime';
import { endWithoutRun } from './end-without-run.ts';
import { type ExecuteDependencies, executeResponse, type Isolate } from './execute-response.ts';
import { inOrder, type ModelRoute } from './model-routes.ts';
import { RunningAttempts } from './running-attempts.ts';
import { TurnBudget } from './turn-budget.ts';

/** A process counts as alive for this share of the time that a job's lock lasts without a renewal. */
const leaseShare = 1 / 2;

export interface AttemptRunnerOptions {
  settings: Settings & { redisUrl: string };
  /** Every upstream of the settings, by its id. Closed with the runner. */
  providers: ReadonlyMap<string, Provider>;
  telemetry: Telemetry;
  logger: Logger;
  /** Where a response runs that may take its process down; undefined where that is here. */
  isolate: Isolate | undefined;
}

/** Everything that it takes to run responses, wherever their ids come from: a queue, or the worker next door. */
export class AttemptRunner {
  readonly store: AttemptStore;
  readonly running: RunningAttempts;
  readonly clock: RedisClock;
  readonly clients: ReturnType<typeof connectionsOf>;
  readonly #providers: ReadonlyMap<string, Provider>;
  readonly #dependencies: ExecuteDependencies;

  constructor({ settings, providers, telemetry, logger, isolate }: AttemptRunnerOptions) {
    const { timeouts, recovery, retention, keyPrefix } = settings;
    this.#providers = providers;
    this.clients = connectionsOf(settings.redisUrl, logger);
    const { commands, control, bulk, subscriber } = this.clients;
    this.clock = new RedisClock({ client: commands, logger });
    this.store = new AttemptStore({
      commands,
      control,
      bulk,
      subscriber,
      keyPrefix,
      retention,
      processId: randomUUID(),
      totalMs: timeouts.totalMs,
      maxAttempts: recovery.maxAttempts,
      leaseMs: recovery.lockMs * leaseShare,
      onError: throttledWarning(logger, 'lease not renewed').warn,
      onEndAskedFor: (responseId) => this.running.abort(responseId, 'cancelled'),
    });
    this.running = new RunningAttempts({
      log: this.store,
      outageMs: recovery.outageMs,
      onError: throttledWarning(logger, 'leases not checked').warn,
    });
    this.#dependencies = {
      log: this.store,
      chooseRoute: inOrder(routesOf(settings, providers)),
      outputLimits: settings.limits,
      running: this.running,
      telemetry,
      turns: new TurnBudget(),
      isolate,
      outageMs: recovery.outageMs,
      now: () => performance.now(),
      storeNow: () => this.clock.now(),
    };
  }

  /** Resolves when responses can be run. Redis must answer. */
  async start(): Promise<void> {
    await this.clock.start();
    await this.store.start();
    this.running.start();
  }

  /** Runs a response until it has its end, or until it must be given back. */
  execute(responseId: string): Promise<Outcome> {
    return executeResponse(this.#dependencies, responseId);
  }

  /** Ends a response that must not run, or not run again. */
  async end(record: ClaimedRecord, because: ClaimEnd): Promise<void> {
    await endWithoutRun(this.#dependencies, record, because);
  }

  /** Closes everything. Nothing may run any more. */
  async stop(): Promise<void> {
    await this.running.stop();
    await this.store.stop();
    this.clock.stop();
    await Promise.all([...this.#providers.values()].map((provider) => provider.close()));
    await Promise.all(Object.values(this.clients).map((client) => closeRedis(client)));
  }
}

/** One connection for each role; see `runtime/src/redis-clients.ts`. */
function connectionsOf(url: string, logger: Logger) {
  return {
    commands: commandClient(url, { logger }),
    control: writerClient(url, { logger, connectionName: 'sluice-control' }),
    bulk: writerClient(url, { logger }),
    subscriber: subscriberClient(url, { logger }),
  };
}

function routesOf({ models }: Settings, providers: ReadonlyMap<string, Provider>): Map<string, ModelRoute[]> {
  const routes = new Map<string, ModelRoute[]>();
  for (const { id, routes: configured } of models) {
    const ofModel: ModelRoute[] = [];
    for (const { provider: providerId, model } of configured) {
      const provider = providers.get(providerId);
      if (provider) ofModel.push({ provider, model });
    }
    routes.set(id, ofModel);
  }
  return routes;
}
