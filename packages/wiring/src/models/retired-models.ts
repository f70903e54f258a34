import type { ModelSettings, ProviderSettings, Settings } from '@sluice/config';
import { queueName } from '@sluice/queue';
import { pause } from '@sluice/runtime';
import { acceptedForMs, defaultKeepMs, type ModelsAndProviders } from './stored-settings.ts';

export interface RetiredModelsOptions {
  settings: Pick<Settings, 'timeouts'>;
  /** Whether nothing is in a queue, by its encoded name. May reject while Redis is away, or a part of it. */
  isEmpty: (name: string) => Promise<boolean>;
  /** For durations, in milliseconds; `performance.now` by default. */
  now?: () => number;
  /** How long a removed model and its queue are served at least, in milliseconds; five minutes by default. */
  keepMs?: number;
  /** How often the queues of removed models are looked at, in milliseconds. */
  lookEveryMs?: number;
}

/** A removed model, as it was last, with the providers of its routes. */
interface Retired {
  model: ModelSettings;
  providers: readonly ProviderSettings[];
  since: number;
}

/** A queue that no model in effect has. */
interface RetiredQueue {
  /** How many of its jobs run at once, as its models said last; undefined for no limit. */
  concurrency: number | undefined;
  since: number;
}

const defaultLookEveryMs = 5_000;

/**
 * Models that were removed and are still served, and queues that no model has any more: for `keepMs` at least, and until the queue is
 * empty.
 */
export class RetiredModels {
  readonly #options: RetiredModelsOptions;
  readonly #now: () => number;
  readonly #stopping = new AbortController();
  readonly #models = new Map<string, Retired>();
  readonly #queues = new Map<string, RetiredQueue>();
  #looking: Promise<void> | undefined;

  constructor(options: RetiredModelsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  get models(): ModelSettings[] {
    return [...this.#models.values()].map(({ model }) => model);
  }

  /** The providers of the routes of removed models. */
  get providers(): ProviderSettings[] {
    return [...this.#models.values()].flatMap(({ providers }) => providers);
  }

  /** How many jobs run at once of each queue that no model in effect has; undefined for no limit. Names are not encoded. */
  get queueLimits(): Map<string, number | undefined> {
    return new Map([...this.#queues].map(([queue, { concurrency }]) => [queue, concurrency]));
  }

  /** Retires models and queues that are no longer in effect. Those that are in effect again are no longer retired. */
  follow(before: ModelsAndProviders, { models }: Pick<ModelsAndProviders, 'models'>): void {
    const ids = new Set(models.map(({ id }) => id));
    const queues = new Set(models.map(({ queue }) => queue));
    const since = this.#now();
    for (const model of before.models) {
      if (!ids.has(model.id)) {
        this.#models.set(model.id, { model, providers: routedTo(model, before.providers), since });
      }
      const { queue, concurrency } = model;
      if (!queues.has(queue)) this.#queues.set(queue, { concurrency, since });
    }
    for (const id of ids) this.#models.delete(id);
    for (const queue of queues) this.#queues.delete(queue);
  }

  /** Retires a model that was never in effect here. Without its providers nobody can serve it, and it is left alone. */
  add(
    model: ModelSettings,
    providers: readonly ProviderSettings[],
    inEffect: Pick<ModelsAndProviders, 'models'>,
  ): void {
    const routed = new Set(model.routes.map(({ provider }) => provider));
    const own = routedTo(model, providers);
    if (own.length !== routed.size) return;
    const since = this.#now();
    this.#models.set(model.id, { model, providers: own, since });
    if (inEffect.models.some(({ queue }) => queue === model.queue)) return;
    // A limit that was in effect here is later than that of a model that never was.
    const { concurrency } = this.#queues.get(model.queue) ?? model;
    this.#queues.set(model.queue, { concurrency, since });
  }

  /** Begins to look at the queues, and tells when something was forgotten. */
  start(onForgotten: () => void): void {
    this.#looking ??= this.#lookOften(onForgotten);
  }

  /** May be called twice, or without a start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#looking;
  }

  /** Forgets models and queues whose time is up, and returns whether there was any. Never rejects; a queue that cannot be read counts as not empty. */
  async look(): Promise<boolean> {
    const gone: (() => void)[] = [];
    for (const [id, retired] of this.#models) {
      if (await this.#isOver(retired.model.queue, retired.since)) {
        gone.push(() => this.#models.get(id) === retired && this.#models.delete(id));
      }
    }
    for (const [queue, retired] of this.#queues) {
      if (await this.#isOver(queue, retired.since)) {
        gone.push(() => this.#queues.get(queue) === retired && this.#queues.delete(queue));
      }
    }
    for (const forget of gone) forget();
    return gone.length > 0;
  }

  async #isOver(queue: string, since: number): Promise<boolean> {
    const { keepMs = defaultKeepMs, isEmpty, settings } = this.#options;
    const keptMs = this.#now() - since;
    if (keptMs < keepMs) return false;
    // A queue that other models share may never be empty. Whatever was accepted for the removed one has ended by then.
    if (keptMs > acceptedForMs(settings.timeouts, keepMs)) return true;
    return isEmpty(queueName(queue)).catch(() => false);
  }

  async #lookOften(onForgotten: () => void): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await pause(this.#options.lookEveryMs ?? defaultLookEveryMs, signal);
      if (!signal.aborted && (await this.look())) onForgotten();
    }
  }
}

function routedTo({ routes }: ModelSettings, providers: readonly ProviderSettings[]): ProviderSettings[] {
  const routed = new Set(routes.map(({ provider }) => provider));
  return providers.filter(({ id }) => routed.has(id));
}
