import type { ModelSettings, ProviderSettings, Settings, StoredProvider } from '@sluice/config';
import { queueName, type ResponseQueues } from '@sluice/queue';
import { RetiredModels, type RetiredModelsOptions } from './retired-models.ts';
import { newlyRemoved, usableModels } from './stored-models.ts';
import { removedProviders, usableProviders } from './stored-providers.ts';
import type { ModelsAndProviders, StoredSettings, UnusableEntry } from './stored-settings.ts';
import { type DiscoveredModels, uniteModels } from './unite-models.ts';

export interface LiveModelsOptions extends RetiredModelsOptions {
  /** What the process starts with. */
  settings: ModelsAndProviders & Pick<Settings, 'timeouts' | 'upstreamKeys'>;
}

/** The stored models and providers that a process can use, and why it cannot use the others. */
interface Usable {
  models: ReturnType<typeof usableModels>;
  providers: ReturnType<typeof usableProviders>;
}

/**
 * The models and providers in effect in this process: those of the settings file, those that operators have stored and those that
 * upstreams list. They change with all three while the process runs.
 *
 * A removed model is no longer among `models`, so that nothing new is accepted for it. It stays among `served`, with its last
 * settings, for at least five minutes and until its queue is empty: jobs may wait there, and another api may not have read the
 * file yet. A queue that no model has any more is kept in the same way. Of a model of the file this is known to the process alone: one
 * that starts with the new file knows nothing of a removed model. A stored model stays in Redis for a while after its removal, and so does
 * a stored provider. A model of the file has routes to providers of the file alone, because the file is checked alone.
 *
 * A reader reads at each use and does not keep what it has read. The arrays themselves are never changed.
 */
export class LiveModels {
  readonly #options: LiveModelsOptions;
  readonly #listeners: (() => void)[] = [];
  readonly #retired: RetiredModels;
  /** What the file says. */
  #file: ModelsAndProviders;
  #discovered: DiscoveredModels = new Map();
  #stored: StoredSettings = { models: new Map(), providers: new Map() };
  #usable: Usable = { models: { models: [], unusable: [] }, providers: { providers: [], unusable: [] } };
  #current: ModelsAndProviders;
  #served: ModelSettings[];
  #servedIds: ReadonlySet<string>;

  constructor(options: LiveModelsOptions) {
    this.#options = options;
    this.#retired = new RetiredModels(options);
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
    for (const each of this.#retired.providers) {
      if (!byId.has(each.id)) byId.set(each.id, each);
    }
    return [...byId.values()];
  }

  /** The encoded names of the queues of all served models, and of those that models have left. */
  get queueNames(): string[] {
    return [...this.queueLimits.keys()];
  }

  /** How many jobs of each of these queues run at once; undefined for no limit. A queue that models have left keeps the limit that it had. */
  get queueLimits(): Map<string, number | undefined> {
    const served = this.served.map(({ queue, concurrency }) => [queue, concurrency] as const);
    const limits = [...served, ...this.#retired.queueLimits];
    return new Map(limits.map(([queue, concurrency]) => [queueName(queue), concurrency]));
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
    return this.#usable.models.models.some((model) => model.id === id) ? 'stored' : 'discovered';
  }

  /** The stored models that are not offered. */
  get unusable(): readonly UnusableEntry[] {
    return this.#usable.models.unusable;
  }

  /** The stored providers that are not in effect. */
  get unusableProviders(): readonly UnusableEntry[] {
    return this.#usable.providers.unusable;
  }

  /** The members of a provider in effect that an operator has stored; undefined for one of the file. */
  storedProvider(id: string): StoredProvider | undefined {
    const isOfFile = this.#file.providers.some((provider) => provider.id === id);
    const entry = isOfFile ? undefined : this.#stored.providers.get(id);
    return entry?.removedAt === undefined ? entry?.value : undefined;
  }

  /**
   * Puts these stored models and providers into effect and no others, and serves models that were removed for as long as any removed
   * model. A kind that is absent stays as it is known.
   */
  takeStored(stored: Partial<StoredSettings>): void {
    const before = this.#stored;
    this.#stored = { ...before, ...stored };
    this.#unite();
    const fresh = newlyRemoved(this.#stored.models, before.models).filter(
      ({ id }) => !this.models.some((each) => each.id === id),
    );
    if (fresh.length === 0) return;
    const { upstreamKeys } = this.#options.settings;
    const ids = new Set(this.providers.map(({ id }) => id));
    const removed = removedProviders(this.#stored.providers, upstreamKeys).filter(({ id }) => !ids.has(id));
    const providers = [...this.providers, ...removed];
    for (const model of fresh) this.#retired.add(model, providers, this.#current);
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
    const { models: ofFile, providers: filed } = this.#file;
    const { upstreamKeys } = this.#options.settings;
    const stored = usableProviders(this.#stored.providers, this.#file, upstreamKeys);
    const providers = [...filed, ...stored.providers];
    const usable = usableModels(this.#stored.models, { models: ofFile, providers });
    this.#usable = { models: usable, providers: stored };
    const models = uniteModels({ providers, models: [...ofFile, ...usable.models] }, this.#discovered);
    this.#current = { models, providers };
    this.#retired.follow(before, this.#current);
    this.#tell();
  }

  /** Begins to look at the queues of removed models. */
  start(): void {
    this.#retired.start(() => this.#tell());
  }

  /** May be called twice, or without a start. */
  stop(): Promise<void> {
    return this.#retired.stop();
  }

  /** Forgets removed models whose time is up. Never rejects. */
  async look(): Promise<void> {
    if (await this.#retired.look()) this.#tell();
  }

  #tell(): void {
    const concurrencies = this.#retired.queueLimits;
    for (const { queue, concurrency } of this.models) concurrencies.set(queue, concurrency);
    const retired = this.#retired.models.map(({ concurrency: own, ...model }) => {
      const concurrency = concurrencies.has(model.queue) ? concurrencies.get(model.queue) : own;
      return { ...model, ...(concurrency !== undefined && { concurrency }) };
    });
    this.#served = [...this.models, ...retired];
    this.#servedIds = idsOf(this.#served);
    for (const listener of this.#listeners) listener();
  }
}

/** The models of a process, whose queues are from now on those that its `ResponseQueues` names. */
export function openModels(
  settings: LiveModelsOptions['settings'],
  queue: Pick<ResponseQueues, 'isEmpty' | 'setNames'>,
): LiveModels {
  const models = new LiveModels({ settings, isEmpty: (name) => queue.isEmpty(name) });
  models.onChange(() => queue.setNames(models.queueNames));
  return models;
}

function idsOf(models: readonly ModelSettings[]): Set<string> {
  return new Set(models.map(({ id }) => id));
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
