import { ConfigError, formatPath, type ModelSettings, type ProviderSettings } from '@sluice/config';
import type { Provider } from '@sluice/providers';
import type { ModelsAndProviders } from '@sluice/wiring';
import type { ModelRoute, ModelRoutes } from '../model-routes.ts';

export interface RunnerModelsOptions {
  /** What the process starts with. */
  settings: ModelsAndProviders;
  /** Every upstream of those settings, by its id. Closed with the models. */
  providers: ReadonlyMap<string, Provider>;
  /** Makes an upstream that is new, or whose settings have changed; absent where neither can happen. */
  createProvider?: ((settings: ProviderSettings) => Provider) | undefined;
  /** Told of an upstream that could not be closed. */
  onError: (error: unknown) => void;
}

/** The routes of a model for a response, which keeps them to its end. */
export interface ModelUse {
  routes: readonly ModelRoute[];
  /** The response uses them no longer. Safe to call twice. */
  end: () => void;
}

interface OpenProvider {
  /** Its settings, as `textOf` has them. */
  text: string;
  provider: Provider;
}

/**
 * The upstreams of a process and the routes of its models to them.
 *
 * An upstream whose settings have not changed stays the same object, so what is known of its health stays, too. One that has
 * changed is another object, and the old one is closed when no response uses it any more.
 */
export class RunnerModels {
  readonly #options: RunnerModelsOptions;
  #byId: ReadonlyMap<string, OpenProvider>;
  #prepared: ReadonlyMap<string, OpenProvider> | undefined;
  #routes: ModelRoutes;
  /** How many responses use each upstream. */
  readonly #uses = new Map<Provider, number>();
  /** Every upstream that is not closed. */
  readonly #open: Set<Provider>;
  readonly #closing = new Set<Promise<void>>();

  constructor(options: RunnerModelsOptions) {
    this.#options = options;
    const { settings, providers } = options;
    const texts = new Map(settings.providers.map((each) => [each.id, textOf(each)]));
    this.#byId = new Map(
      [...providers].map(([id, provider]) => [id, { provider, text: texts.get(id) ?? '' }]),
    );
    this.#open = new Set(providers.values());
    this.#routes = this.#routesTo(settings.models);
  }

  /** Every route, those of removed models included. */
  get routes(): ModelRoute[] {
    return [...this.#routes.values()].flat();
  }

  /** The routes that a response would get now; undefined for a model that this process does not know. */
  routesOf(model: string): readonly ModelRoute[] | undefined {
    return this.#routes.get(model);
  }

  /** Takes the routes of a model for a response; undefined for a model that this process does not know. */
  use(model: string): ModelUse | undefined {
    const routes = this.#routes.get(model);
    if (!routes) return undefined;
    const providers = new Set(routes.map(({ provider }) => provider));
    for (const provider of providers) this.#uses.set(provider, (this.#uses.get(provider) ?? 0) + 1);
    let hasEnded = false;
    const end = () => {
      if (hasEnded) return;
      hasEnded = true;
      for (const provider of providers) this.#release(provider);
    };
    return { routes, end };
  }

  /**
   * Makes the upstreams that are new in these settings, for `take`.
   *
   * @throws {ConfigError} when this machine lacks what one of them needs. Then nothing has changed.
   */
  async prepare({ providers }: ModelsAndProviders): Promise<void> {
    const made: OpenProvider[] = [];
    const prepared = new Map<string, OpenProvider>();
    for (const settings of providers) {
      const text = textOf(settings);
      const known = this.#byId.get(settings.id);
      if (known?.text === text) {
        prepared.set(settings.id, known);
        continue;
      }
      const provider = this.#options.createProvider?.(settings);
      if (!provider) continue;
      made.push({ text, provider });
      prepared.set(settings.id, { text, provider });
    }
    const missing = await Promise.all(made.map(async ({ provider }) => provider.prepare?.()));
    const problems = missing.flatMap((message, at) => {
      const index = providers.findIndex(({ id }) => id === made[at]?.provider.id);
      return message === undefined ? [] : [{ path: formatPath(['providers', index]), message }];
    });
    if (problems.length > 0) {
      await Promise.all(made.map(({ provider }) => provider.close()));
      throw new ConfigError(problems);
    }
    for (const { provider } of made) this.#open.add(provider);
    this.#prepared = prepared;
  }

  /**
   * Puts the prepared upstreams and the routes of these models into effect. A removed model keeps the routes that it had.
   *
   * @param served the models in effect, and the removed ones.
   */
  take({ models, served }: { models: readonly ModelSettings[]; served: readonly ModelSettings[] }): void {
    this.#byId = this.#prepared ?? this.#byId;
    this.#prepared = undefined;
    const routes = this.#routesTo(models);
    for (const { id } of served) {
      const kept = this.#routes.get(id);
      if (kept && !routes.has(id)) routes.set(id, kept);
    }
    this.#routes = routes;
    for (const provider of this.#open) this.#closeIfUnused(provider);
  }

  /** Closes every upstream. Nothing may run any more. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((provider) => provider.close()));
    this.#open.clear();
    await Promise.all(this.#closing);
  }

  #routesTo(models: readonly ModelSettings[]): Map<string, readonly ModelRoute[]> {
    const routes = new Map<string, readonly ModelRoute[]>();
    for (const { id, routes: configured } of models) {
      const ofModel: ModelRoute[] = [];
      for (const { provider: providerId, model } of configured) {
        const provider = this.#byId.get(providerId)?.provider;
        if (provider) ofModel.push({ provider, model });
      }
      routes.set(id, ofModel);
    }
    return routes;
  }

  #release(provider: Provider): void {
    const left = (this.#uses.get(provider) ?? 1) - 1;
    if (left > 0) {
      this.#uses.set(provider, left);
      return;
    }
    this.#uses.delete(provider);
    this.#closeIfUnused(provider);
  }

  #closeIfUnused(provider: Provider): void {
    if (!this.#open.has(provider) || this.#uses.has(provider)) return;
    const inEffect = [...this.#byId.values(), ...(this.#prepared?.values() ?? [])];
    if (inEffect.some((each) => each.provider === provider)) return;
    if (this.routes.some((route) => route.provider === provider)) return;
    this.#open.delete(provider);
    const closed = provider.close().catch(this.#options.onError);
    this.#closing.add(closed);
    void closed.finally(() => this.#closing.delete(closed));
  }
}

/** The settings of which a change makes another upstream, as JSON. How its models are found is none of them. */
function textOf(settings: ProviderSettings): string {
  return JSON.stringify({ ...settings, discover: undefined, discovery: undefined });
}
