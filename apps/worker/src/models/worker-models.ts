import { missingVariable, type OpenSettings, type Settings, type SettingsWatch } from '@sluice/config';
import type { Limits, QueueConsumer } from '@sluice/queue';
import type { Logger } from '@sluice/runtime';
import {
  type AskForModels,
  type ConnectedSettings,
  type LiveModels,
  ModelDiscovery,
  ModelStore,
  openModels,
  StoredWatch,
  type WorkerClients,
  type Wired,
} from '@sluice/wiring';
import type { AttemptRunner } from '../attempt-runner.ts';
import type { IsolatedRuns } from '../isolation/isolated-runs.ts';
import type { QueueLimits } from '../queue-limits.ts';
import { ServedQueues } from './served-queues.ts';

export interface WorkerModelsOptions {
  /** What the worker starts with. */
  settings: ConnectedSettings;
  wired: Pick<Wired<WorkerClients, unknown>, 'clients' | 'clock' | 'keyPrefix' | 'queue'>;
  /** Asks an upstream for its models; without it, another worker does. */
  askForModels?: AskForModels | undefined;
  /** Watches the file of the settings; without it they stay as they are. */
  watch?: OpenSettings['watch'] | undefined;
  logger: Logger;
}

/** The parts of a worker that follow its models. */
export interface ModelFollowers {
  runner: Pick<AttemptRunner, 'models' | 'take'>;
  isolated: Pick<IsolatedRuns, 'retire'>;
  limits: Pick<QueueLimits, 'set'>;
  consumer: Pick<QueueConsumer, 'serve'>;
}

/** The models of a worker, as the settings file and the upstreams change them, and the way of a change to its parts. */
export class WorkerModels {
  /** Their models are, at each reading, those that are served. */
  readonly settings: ConnectedSettings;
  readonly #options: WorkerModelsOptions;
  readonly #live: LiveModels;
  readonly #discovery: ModelDiscovery;
  readonly #stored: StoredWatch;
  readonly #watch: SettingsWatch | undefined;
  #followers: ModelFollowers | undefined;
  #served: ServedQueues | undefined;
  /** The variables that were said to be missing, by provider. */
  #missing: ReadonlyMap<string, string> = new Map();

  constructor(options: WorkerModelsOptions) {
    const { settings, wired, askForModels: ask, watch, logger } = options;
    this.#options = options;
    this.#live = openModels(settings, wired.queue);
    this.settings = this.#live.servedInSettings(settings);
    const connection = wired.clients.commands;
    this.#discovery = new ModelDiscovery({ ...wired, live: this.#live, connection, ask, logger });
    const store = new ModelStore({ connection, keyPrefix: wired.keyPrefix });
    this.#stored = new StoredWatch({ store, live: this.#live, logger });
    this.#watch = watch?.({ apply: (changed) => this.#takeSettings(changed), log: logger });
    this.#live.onChange(() => this.#takeModels());
  }

  /** See `LiveModels`. */
  get queueLimits(): Limits {
    return this.#live.queueLimits;
  }

  /** Tells these parts of each change from now on. Called once, before a start. */
  follow(followers: ModelFollowers): void {
    const { limits, consumer } = followers;
    const { logger } = this.#options;
    this.#followers = followers;
    this.#served = new ServedQueues({
      names: () => this.#live.queueNames,
      limits,
      consumer,
      onError: (error) => logger.error({ err: error }, 'queues of changed models not served'),
    });
  }

  /** Resolves when the worker knows the models that are stored and that upstreams list, as soon as Redis answers. */
  async discover(signal: AbortSignal): Promise<void> {
    await this.#stored.start(signal);
    await this.#discovery.start(signal);
  }

  /** Follows the file, and looks after the queues of removed models. */
  start(): void {
    this.#live.start();
    this.#watch?.start();
  }

  /** Reads the file at once. */
  reload(): void {
    this.#watch?.reload();
  }

  /** Resolves when no change is under way. May be called twice, or without a start. */
  async stop(): Promise<void> {
    await Promise.all([
      this.#watch?.stop(),
      this.#stored.stop(),
      this.#discovery.stop(),
      this.#live.stop(),
      this.#served?.stop(),
    ]);
  }

  /** A worker uses the models and providers of a changed file, and nothing else of it. */
  async #takeSettings(changed: Settings): Promise<void> {
    await this.#followers?.runner.models.prepare(changed);
    this.#live.replace(changed);
  }

  #takeModels(): void {
    this.#sayMissing();
    this.#followers?.runner.take(this.#live);
    this.#followers?.isolated.retire();
    this.#served?.change();
  }

  /** Says once which keys of stored providers this process lacks, and again when that changes. */
  #sayMissing(): void {
    const missing = new Map<string, string>();
    for (const provider of this.#live.providers) {
      const variable = missingVariable(provider);
      if (variable === undefined) continue;
      missing.set(provider.id, variable);
      if (this.#missing.get(provider.id) === variable) continue;
      this.#options.logger.error(
        { provider: provider.id, variable },
        'variable with the key of a stored provider not set, its calls fail here',
      );
    }
    this.#missing = missing;
  }
}
