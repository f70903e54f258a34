import type { ModelSettings, ProviderSettings, Settings } from '@sluice/config';
import { type QueueBacklog, queueName, type ResponseQueue } from '@sluice/queue';
import { pause } from '@sluice/runtime';
import {
  acceptedForMs,
  defaultKeepMs,
  newlyRemoved,
  type StoredModel,
  type UnusableModel,
  usableModels,
} from './stored-models.ts';
import { type DiscoveredModels, uniteModels } from './unite-models.ts';

/** The models of a service and the upstreams that their routes name. */
export type ModelsAndProviders = Pick<Settings, 'models' | 'providers'>;

export interface LiveModelsOptions {
  /** What the process starts with. */
  settings: ModelsAndProviders & Pick<Settings, 'timeouts'>;
  /** Reads what is in a queue, by its encoded name. May reject while Redis is away. */
  backlog: (name: string) => Promise<Pick<QueueBacklog, 'waiting' | 'active'>>;
  /** For durations, in milliseconds; `performance.now` by default. */
  now?: () => number;
  /** How long a removed model and its queue are served at least, in milliseconds; five minutes by default. */
  keepMs?: number;
  /** How often the queues of removed models are looked at, in milliseconds. */
  lookEveryMs?: number;
}

/** A removed model, as it was last. */
interface Retired {
  model: ModelSettings;
  providers: readonly ProviderSettings[];
  since: number;
}

const defaultLookEveryMs = 5_000;

/**
 * The models and providers in effect in this process: those of the settings file, those that operators have stored and those that
 * upstreams list. They change with all three while the process runs.
 *
 * A removed model is no longer among `models`, so that nothing new is accepted for it. It stays among `served`, with its last
 * settings, for at least five minutes and until its queue is empty: jobs may wait there, and another api may not have read the
 * file yet. A queue that no model has any more is kept in the same way. Of a model of the file this is known to the process alone: one
 * that starts with the new file knows nothing of a removed model. A stored model stays in Redis for a while after its removal.
 *
 * A reader reads at each use and does not keep what it has read. The arrays themselves are never changed.
 */
export class LiveModels {
  readonly #options: LiveModelsOptions;
  readonly #now: () => number;
  readonly #listeners: (() => void)[] = [];
  readonly #stopping = new AbortController();
  readonly #retired = new Map<string, Retired>();
  /** Queues that no model in effect has, and since when. */
  readonly #retiredQueues = new Map<string, number>();
  /** What the file says. */
  #file: ModelsAndProviders;
  #discovered: DiscoveredModels = new Map();
  #stored: ReadonlyMap<string, StoredModel> = new Map();
  #usable: ReturnType<typeof usableModels> = { models: [], unusable: [] };
  #current: ModelsAndProviders;
  #served: ModelSettings[];
  #servedIds: ReadonlySet<string>;
  #looking: Promise<void> | undefined;

  constructor(options: LiveModelsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    const { models, providers } = options.settings;
    this.#file = { models, providers };
    this.#current = this.#file;
    this.#served = models;
    this.#servedIds = idsOf(models);
  }

  /** Those that requests may name. */
  get models(): ModelSettings[] {
    return this.#current.models;
  }

  get providers(): ProviderSettings[] {
    return this.#current.providers;
  }

  /** The models in effect, and those that were removed and are still served. All models of a queue have its concurrency. */
  get served(): ModelSettings[] {
    return this.#served;
  }

  /** Whether a model is in effect, or was removed and is still served. */
  serves(id: string): boolean {
    return this.#servedIds.has(id);
  }

  /** The providers in effect, and those of removed models that are no longer among them. */
  get servedProviders(): ProviderSettings[] {
    const byId = new Map(this.providers.map((each) => [each.id, each]));
    for (const each of [...this.#retired.values()].flatMap(({ providers }) => providers)) {
      if (!byId.has(each.id)) byId.set(each.id, each);
    }
    return [...byId.values()];
  }

  /** The encoded names of the queues of all served models, and of those that models have left. */
  get queueNames(): string[] {
    return [...new Set([...queuesOf(this.served), ...this.#retiredQueues.keys()].map(queueName))];
  }

  /** Calls the listener after each change, in the order in which listeners came. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Settings whose models and providers are, at each reading, those in effect. */
  inSettings<Given extends Settings>(settings: Given): Given {
    return viewOf(settings, { models: () => this.models, providers: () => this.providers });
  }

  /** Settings whose models and providers are, at each reading, those that are served. */
  servedInSettings<Given extends Settings>(settings: Given): Given {
    return viewOf(settings, { models: () => this.served, providers: () => this.servedProviders });
  }

  /** What the settings file says. */
  get file(): ModelsAndProviders {
    return this.#file;
  }

  /** Where a model in effect comes from. */
  originOf(id: string): 'file' | 'stored' | 'discovered' {
    if (this.#file.models.some((model) => model.id === id)) return 'file';
    return this.#usable.models.some((model) => model.id === id) ? 'stored' : 'discovered';
  }

  /** The stored models that are not offered. */
  get unusable(): readonly UnusableModel[] {
    return this.#usable.unusable;
  }

  /** Offers these stored models and no others, and serves those that were removed for as long as any removed model. */
  takeStored(stored: ReadonlyMap<string, StoredModel>): void {
    const before = this.#stored;
    this.#stored = stored;
    this.#unite();
    const fresh = newlyRemoved(stored, before).filter(
      ({ id }) => !this.models.some((each) => each.id === id),
    );
    if (fresh.length === 0) return;
    const since = this.#now();
    const queues = queuesOf(this.models);
    for (const model of fresh) {
      const routed = new Set(model.routes.map(({ provider }) => provider));
      const providers = this.providers.filter(({ id }) => routed.has(id));
      // Without its upstream nobody can serve it.
      if (providers.length !== routed.size) continue;
      this.#retired.set(model.id, { model, providers, since });
      if (!queues.has(model.queue)) this.#retiredQueues.set(model.queue, since);
    }
    this.#tell();
  }

  /** Puts other models and providers of the file into effect, in one step. Discovered models stay. */
  replace({ models, providers }: ModelsAndProviders): void {
    this.#file = { models, providers };
    this.#unite();
  }

  /** Offers the models that upstreams list now, and no other discovered ones. Returns whether that is a change. */
  takeDiscovered(discovered: DiscoveredModels): boolean {
    const isSame = JSON.stringify([...discovered]) === JSON.stringify([...this.#discovered]);
    if (isSame) return false;
    this.#discovered = discovered;
    this.#unite();
    return true;
  }

  #unite(): void {
    const before = this.#current;
    const { providers } = this.#file;
    this.#usable = usableModels(this.#stored, this.#file);
    const named = { providers, models: [...this.#file.models, ...this.#usable.models] };
    const models = uniteModels(named, this.#discovered);
    this.#current = { models, providers };
    const ids = idsOf(models);
    const queues = queuesOf(models);
    const since = this.#now();
    for (const model of before.models) {
      if (ids.has(model.id)) continue;
      const routed = new Set(model.routes.map(({ provider }) => provider));
      const used = before.providers.filter(({ id }) => routed.has(id));
      this.#retired.set(model.id, { model, providers: used, since });
    }
    for (const id of ids) this.#retired.delete(id);
    for (const queue of queuesOf(before.models))
      if (!queues.has(queue)) this.#retiredQueues.set(queue, since);
    for (const queue of queues) this.#retiredQueues.delete(queue);
    this.#tell();
  }

  /** Begins to look at the queues of removed models. */
  start(): void {
    this.#looking ??= this.#lookOften();
  }

  /** May be called twice, or without a start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#looking;
  }

  /** Forgets removed models whose time is up. Never rejects; a queue that cannot be read counts as not empty. */
  async look(): Promise<void> {
    const gone: (() => void)[] = [];
    for (const [id, retired] of this.#retired) {
      if (await this.#isOver(retired.model.queue, retired.since)) {
        gone.push(() => this.#retired.get(id) === retired && this.#retired.delete(id));
      }
    }
    for (const [queue, since] of this.#retiredQueues) {
      if (await this.#isOver(queue, since)) {
        gone.push(() => this.#retiredQueues.get(queue) === since && this.#retiredQueues.delete(queue));
      }
    }
    if (gone.length === 0) return;
    for (const forget of gone) forget();
    this.#tell();
  }

  async #isOver(queue: string, since: number): Promise<boolean> {
    const { keepMs = defaultKeepMs, backlog, settings } = this.#options;
    const keptMs = this.#now() - since;
    if (keptMs < keepMs) return false;
    // A queue that other models share may never be empty. Whatever was accepted for the removed one has ended by then.
    if (keptMs > acceptedForMs(settings.timeouts, keepMs)) return true;
    return backlog(queueName(queue)).then(
      ({ waiting, active }) => waiting + active === 0,
      () => false,
    );
  }

  async #lookOften(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await pause(this.#options.lookEveryMs ?? defaultLookEveryMs, signal);
      if (!signal.aborted) await this.look();
    }
  }

  #tell(): void {
    const concurrencies = new Map(this.models.map(({ queue, concurrency }) => [queue, concurrency]));
    const retired = [...this.#retired.values()].map(({ model: { concurrency: own, ...model } }) => {
      const concurrency = concurrencies.has(model.queue) ? concurrencies.get(model.queue) : own;
      return { ...model, ...(concurrency !== undefined && { concurrency }) };
    });
    this.#served = [...this.models, ...retired];
    this.#servedIds = idsOf(this.#served);
    for (const listener of this.#listeners) listener();
  }
}

/** The models of a process, whose queues are from now on those that its `ResponseQueue` names. */
export function openModels(
  settings: LiveModelsOptions['settings'],
  queue: Pick<ResponseQueue, 'backlog' | 'setNames'>,
): LiveModels {
  const models = new LiveModels({ settings, backlog: (name) => queue.backlog(name) });
  models.onChange(() => queue.setNames(models.queueNames));
  return models;
}

function idsOf(models: readonly ModelSettings[]): Set<string> {
  return new Set(models.map(({ id }) => id));
}

function queuesOf(models: readonly ModelSettings[]): Set<string> {
  return new Set(models.map(({ queue }) => queue));
}

function viewOf<Given extends Settings>(
  settings: Given,
  { models, providers }: { models: () => ModelSettings[]; providers: () => ProviderSettings[] },
): Given {
  return Object.defineProperties(
    { ...settings },
    {
      models: { enumerable: true, get: models },
      providers: { enumerable: true, get: providers },
    },
  );
}
