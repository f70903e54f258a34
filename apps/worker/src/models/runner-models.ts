import { ConfigError, formatPath, type ModelSettings, type ProviderSettings } from '@sluice/config';
import type { Provider } from '@sluice/providers';
import type { ModelsAndProviders } from '@sluice/wiring';
import type { ModelRoute } from '../model-routes.ts';
import type { Resolve } from '../servers/resolved-addresses.ts';
import { type CreateProvider, isPooled, ServerPool } from '../servers/server-pool.ts';

export interface RunnerModelsOptions {
  /** What the process starts with. */
  settings: ModelsAndProviders;
  /** Every upstream of those settings, by its id. Closed with the models. */
  providers: ReadonlyMap<string, Provider>;
  /** Makes an upstream that is new, or whose settings have changed; absent where neither can happen. */
  createProvider?: CreateProvider | undefined;
  /** Resolves the names of providers; by default as this machine does. */
  resolve?: Resolve | undefined;
  /** The servers of a provider have changed, and with them the routes. */
  onServers?: (() => void) | undefined;
  /** Told of an upstream that could not be closed. */
  onError: (error: unknown) => void;
}

/** The models and providers that `RunnerModels.take` puts into effect. */
export interface TakenModels extends ModelsAndProviders {
  served: readonly ModelSettings[];
}

/** The routes of a model for a response, which keeps them to its end. Servers behind a name may come and go. */
export interface ModelUse {
  readonly routes: readonly ModelRoute[];
  /** The response uses them no longer. Safe to call twice. */
  end: () => void;
}

interface OpenProvider {
  /** Its settings, as `textOf` has them. */
  text: string;
  upstream: Upstream;
}

/** A provider, or all servers of one that has several. */
type Upstream = Provider | ServerPool;

/** The routes of a model as the settings have them. */
interface Entries {
  all: readonly { upstream: Upstream; routes: () => readonly ModelRoute[] }[];
  /** The routes that they come to; undefined where servers may come and go. */
  fixed: readonly ModelRoute[] | undefined;
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
  #entries: ReadonlyMap<string, Entries>;
  #hasStarted = false;
  /** How many responses use each upstream. */
  readonly #uses = new Map<Upstream, number>();
  /** Every upstream that is not closed. */
  readonly #open: Set<Upstream>;
  readonly #closing = new Set<Promise<void>>();
  /** Those that the settings have, or those that are prepared, or a model that is still served. */
  #inEffect: ReadonlySet<Upstream>;

  constructor(options: RunnerModelsOptions) {
    this.#options = options;
    const { settings, providers } = options;
    const known = new Map(settings.providers.map((each) => [each.id, each]));
    this.#byId = new Map(
      [...providers].map(([id, provider]) => {
        const own = known.get(id);
        return [id, { upstream: this.#upstreamOf(own, provider), text: own ? textOf(own) : '' }];
      }),
    );
    this.#open = new Set([...this.#byId.values()].map(({ upstream }) => upstream));
    this.#entries = this.#entriesOf(settings.models);
    this.#inEffect = this.#findInEffect();
  }

  /** Begins to resolve the names of providers whose servers are behind one. */
  start(): void {
    this.#hasStarted = true;
    for (const upstream of this.#open) if (upstream instanceof ServerPool) upstream.start();
  }

  /** Every route, those of removed models included. */
  get routes(): ModelRoute[] {
    return [...this.#entries.values()].flatMap(routesOf);
  }

  /** Whether a provider has several servers, those of removed models included. */
  get haveServers(): boolean {
    return [...this.#open].some((upstream) => upstream instanceof ServerPool);
  }

  /** The routes that a response would get now; undefined for a model that this process does not know. */
  routesOf(model: string): readonly ModelRoute[] | undefined {
    const entries = this.#entries.get(model);
    return entries && routesOf(entries);
  }

  /** Takes the routes of a model for a response; undefined for a model that this process does not know. */
  use(model: string): ModelUse | undefined {
    const entries = this.#entries.get(model);
    if (!entries) return undefined;
    const upstreams = new Set(entries.all.map(({ upstream }) => upstream));
    for (const upstream of upstreams) this.#uses.set(upstream, (this.#uses.get(upstream) ?? 0) + 1);
    let hasEnded = false;
    const end = () => {
      if (hasEnded) return;
      hasEnded = true;
      for (const upstream of upstreams) this.#release(upstream);
    };
    return {
      get routes() {
        return routesOf(entries);
      },
      end,
    };
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
      const each = { text, upstream: this.#upstreamOf(settings, provider) };
      made.push(each);
      prepared.set(settings.id, each);
    }
    const missing = await Promise.all(
      made.map(async ({ upstream }) => ('prepare' in upstream ? upstream.prepare?.() : undefined)),
    );
    const problems = missing.flatMap((message, at) => {
      const index = providers.findIndex(({ id }) => id === made[at]?.upstream.id);
      return message === undefined ? [] : [{ path: formatPath(['providers', index]), message }];
    });
    if (problems.length > 0) {
      await Promise.all(made.map(({ upstream }) => upstream.close()));
      throw new ConfigError(problems);
    }
    for (const { upstream } of made) this.#open.add(upstream);
    this.#prepared = prepared;
    this.#inEffect = this.#findInEffect();
  }

  /**
   * Puts these providers and the routes of these models into effect. An upstream that is neither prepared nor known is made here: a
   * stored provider needs nothing of the machine. A removed model keeps the routes that it had.
   *
   * @param next `served` are the models in effect, and the removed ones; `providers` are those that both need.
   */
  take({ models, served, providers }: TakenModels): void {
    const byId = new Map<string, OpenProvider>();
    for (const settings of providers) {
      const open = this.#openFor(settings);
      if (open) byId.set(settings.id, open);
    }
    this.#byId = byId;
    this.#prepared = undefined;
    const entries = this.#entriesOf(models);
    const removed = served.filter(({ id }) => !entries.has(id));
    // One that was removed before this process began has the routes that it says.
    for (const [id, own] of this.#entriesOf(removed)) entries.set(id, this.#entries.get(id) ?? own);
    this.#entries = entries;
    this.#inEffect = this.#findInEffect();
    for (const upstream of this.#open) {
      if (upstream instanceof ServerPool && !this.#inEffect.has(upstream)) upstream.settle();
      this.#closeIfUnused(upstream);
    }
    if (this.#hasStarted) this.start();
  }

  /** Closes every upstream. Nothing may run any more. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((upstream) => upstream.close()));
    this.#open.clear();
    await Promise.all(this.#closing);
  }

  #openFor(settings: ProviderSettings): OpenProvider | undefined {
    const text = textOf(settings);
    const known = [this.#prepared, this.#byId].map((each) => each?.get(settings.id));
    const found = known.find((each) => each?.text === text);
    if (found) return found;
    const provider = this.#options.createProvider?.(settings);
    if (!provider) return undefined;
    const upstream = this.#upstreamOf(settings, provider);
    this.#open.add(upstream);
    return { text, upstream };
  }

  #entriesOf(models: readonly ModelSettings[]): Map<string, Entries> {
    const entries = new Map<string, Entries>();
    for (const { id, routes } of models) {
      const all = routes.flatMap(({ provider, model }) => {
        const upstream = this.#byId.get(provider)?.upstream;
        return upstream ? [{ upstream, routes: routesTo(upstream, model) }] : [];
      });
      const isFixed = !all.some(({ upstream }) => upstream instanceof ServerPool);
      entries.set(id, { all, fixed: isFixed ? all.flatMap((each) => each.routes()) : undefined });
    }
    return entries;
  }

  #upstreamOf(settings: ProviderSettings | undefined, first: Provider): Upstream {
    if (!settings || !isPooled(settings)) return first;
    const { createProvider, resolve, onServers, onError } = this.#options;
    const onChange = () => onServers?.();
    return new ServerPool({ settings, first, createProvider, resolve, onChange, onError });
  }

  #findInEffect(): Set<Upstream> {
    const ofSettings = [...this.#byId.values(), ...(this.#prepared?.values() ?? [])];
    const ofModels = [...this.#entries.values()].flatMap(({ all }) => all);
    return new Set([...ofSettings, ...ofModels].map(({ upstream }) => upstream));
  }

  #release(upstream: Upstream): void {
    const left = (this.#uses.get(upstream) ?? 1) - 1;
    if (left > 0) {
      this.#uses.set(upstream, left);
      return;
    }
    this.#uses.delete(upstream);
    this.#closeIfUnused(upstream);
  }

  #closeIfUnused(upstream: Upstream): void {
    if (!this.#open.has(upstream) || this.#uses.has(upstream) || this.#inEffect.has(upstream)) return;
    this.#open.delete(upstream);
    const closed = upstream.close().catch(this.#options.onError);
    this.#closing.add(closed);
    void closed.finally(() => this.#closing.delete(closed));
  }
}

/** The settings of which a change makes another upstream, as JSON. How its models are found is none of them. */
function textOf(settings: ProviderSettings): string {
  return JSON.stringify({ ...settings, discover: undefined, discovery: undefined });
}

function routesOf({ all, fixed }: Entries): readonly ModelRoute[] {
  return fixed ?? all.flatMap(({ routes }) => routes());
}

/** The routes to a model at an upstream. Each stays the same object. */
function routesTo(upstream: Upstream, model: string): () => readonly ModelRoute[] {
  if (upstream instanceof ServerPool) return () => upstream.routesTo(model);
  const routes = [{ provider: upstream, model }];
  return () => routes;
}
