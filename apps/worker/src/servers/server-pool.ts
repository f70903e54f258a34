import { type ProviderSettings, serverAddress } from '@sluice/config';
import type { Provider } from '@sluice/providers';
import type { ModelRoute, PoolServer } from '../model-routes.ts';
import { type Resolve, ResolvedAddresses, resolveByMachine } from './resolved-addresses.ts';

/** Makes the provider of some settings; with an address, one that connects there in place of where the host resolves to. */
export type CreateProvider = (settings: ProviderSettings, address?: string) => Provider;

type Pooled = Extract<ProviderSettings, { baseUrl: string }>;

export interface ServerPoolOptions {
  settings: Pooled;
  /** The provider of the settings themselves: of the first replica, or of whichever address the host resolves to. */
  first: Provider;
  /** Absent where no other provider can be made. Then the first is the only server. */
  createProvider: CreateProvider | undefined;
  resolve?: Resolve | undefined;
  /** The servers have changed. */
  onChange: () => void;
  onError: (error: unknown) => void;
}

interface Member {
  provider: Provider;
  server: PoolServer;
  /** By the upstream's name of the model. A route stays the same object. */
  routes: Map<string, ModelRoute>;
}

/** Whether a provider has several servers. */
export function isPooled(settings: ProviderSettings): settings is Pooled {
  return 'replicas' in settings ? settings.replicas !== undefined : 'resolve' in settings && settings.resolve;
}

/** The key of a server among those of all providers. */
export function serverKey(providerId: string, name: string): string {
  return `${providerId} ${name}`;
}

/**
 * The servers of one provider. Those of a list stay; those behind a name come and go with its addresses. Until the name has
 * been resolved, the only server is the name itself, so a provider whose name does not resolve fails as any other does.
 */
export class ServerPool {
  readonly #options: ServerPoolOptions;
  /** By name, in order. */
  #members: ReadonlyMap<string, Member>;
  readonly #addresses: ResolvedAddresses | undefined;
  readonly #closing = new Set<Promise<void>>();

  constructor(options: ServerPoolOptions) {
    this.#options = options;
    const { settings, first, createProvider, resolve = resolveByMachine } = options;
    const { replicas = [], baseUrl } = settings;
    const names = (replicas.length > 0 ? replicas : [baseUrl]).map(serverAddress);
    const members = new Map<string, Member>();
    for (const [at, name] of names.entries()) {
      const provider = at === 0 ? first : createProvider?.({ ...settings, baseUrl: replicas[at] ?? baseUrl });
      if (provider) members.set(name, this.#member(name, provider));
    }
    this.#members = members;
    if (replicas.length > 0 || !createProvider) return;
    this.#addresses = new ResolvedAddresses({
      host: new URL(baseUrl).hostname,
      resolve,
      onChange: (addresses) => this.#take(addresses, createProvider),
    });
  }

  get id(): string {
    return this.#options.settings.id;
  }

  /** Every provider that may be called now. */
  get providers(): Provider[] {
    return [...this.#members.values()].map(({ provider }) => provider);
  }

  /** A route to the model at each server. */
  routesTo(model: string): ModelRoute[] {
    return [...this.#members.values()].map(({ provider, server, routes }) => {
      const route = routes.get(model) ?? { provider, model, server };
      routes.set(model, route);
      return route;
    });
  }

  /** Begins to resolve the name, if there is one to resolve. Safe to call twice. */
  start(): void {
    this.#addresses?.start();
  }

  /**
   * Keeps the servers that it has, because its provider is no longer in effect: the responses under way that use it go on with
   * servers whose health is known. Cannot be undone.
   */
  settle(): void {
    this.#addresses?.stop().catch(this.#options.onError);
  }

  /** Refuses new calls, waits for the running ones, and closes every connection. */
  async close(): Promise<void> {
    await this.#addresses?.stop();
    const { first } = this.#options;
    await Promise.all([...new Set([first, ...this.providers])].map((provider) => provider.close()));
    await Promise.all(this.#closing);
  }

  #member(name: string, provider: Provider): Member {
    return { provider, server: { name, key: serverKey(this.id, name) }, routes: new Map() };
  }

  /** A server that is no longer there gets no new call. Those under way go on. */
  #take(addresses: readonly string[], createProvider: CreateProvider): void {
    const { settings, first, onChange, onError } = this.#options;
    const before = this.#members;
    this.#members = new Map(
      addresses.map((address) => [
        address,
        before.get(address) ?? this.#member(address, createProvider(settings, address)),
      ]),
    );
    onChange();
    for (const [name, { provider }] of before) {
      if (this.#members.has(name) || provider === first) continue;
      const closed = provider.close().catch(onError);
      this.#closing.add(closed);
      void closed.finally(() => this.#closing.delete(closed));
    }
  }
}
