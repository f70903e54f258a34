import { type DiscoveringProvider, isDiscovering } from '@sluice/config';
import { type Logger, pause, type RedisClock, throttledWarning, untilRedisTakes } from '@sluice/runtime';
import { DiscoveredStore, type DiscoveredStoreOptions, type KnownList } from './discovered-store.ts';
import type { LiveModels } from './live-models.ts';

/** How an upstream answered when it was asked for its models. */
export type ListedModels = { models: readonly string[] } | { fault: string };

/** Asks an upstream for its models. Never rejects. */
export type AskForModels = (provider: DiscoveringProvider, signal: AbortSignal) => Promise<ListedModels>;

export interface ModelDiscoveryOptions extends DiscoveredStoreOptions {
  live: Pick<LiveModels, 'providers' | 'takeDiscovered'>;
  clock: Pick<RedisClock, 'now'>;
  /** Asks upstreams; absent in a process that only reads what others were told. */
  ask?: AskForModels | undefined;
  logger: Logger;
  /** How often what is known is read, in milliseconds; a second by default. */
  lookEveryMs?: number | undefined;
}

const defaultLookEveryMs = 1_000;

/** When an upstream that did not list its models is asked again, in milliseconds. */
const retryMs = 5_000;

/**
 * Offers the models that upstreams list, in every process of the service.
 *
 * Each process reads what is known in Redis every second, so all of them come to the same models within about that time. Workers
 * ask the upstreams, one worker for all. While Redis is away, or has lost its data, a process goes on with what it knows. The
 * models of an upstream that does not list them any more go when it was silent for `discovery.keepMs`.
 */
export class ModelDiscovery {
  readonly #options: ModelDiscoveryOptions;
  readonly #store: DiscoveredStore;
  readonly #stopping = new AbortController();
  readonly #warn: (error: unknown) => void;
  /** What is known, by the ids of providers. */
  #known = new Map<string, KnownList>();
  #version: string | undefined;
  /** The upstreams that are asked now. */
  readonly #asking = new Map<string, Promise<void>>();
  #running: Promise<void> | undefined;

  constructor(options: ModelDiscoveryOptions) {
    this.#options = options;
    this.#store = new DiscoveredStore(options);
    this.#warn = throttledWarning(options.logger, 'discovered models not read, those known stay').warn;
  }

  /** Resolves when this process offers what is known, as soon as Redis answers, and follows it from then on. */
  async start(signal: AbortSignal): Promise<void> {
    await untilRedisTakes(() => this.look(), signal);
    this.#running ??= this.#run();
  }

  /** May be called twice, or without a start. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the discovery of models stops'));
    await this.#running;
    await Promise.all(this.#asking.values());
  }

  /** What is known of the upstream of a provider. */
  known(provider: string): KnownList | undefined {
    return this.#known.get(provider);
  }

  /** Reads what is known, puts it into effect, and begins to ask upstreams whose time has come. */
  async look(): Promise<void> {
    const providers = this.#options.live.providers.filter(isDiscovering);
    if (providers.length === 0) {
      this.#options.live.takeDiscovered(new Map());
      return;
    }
    await this.#read();
    this.#offer(providers);
    if (this.#options.ask) for (const provider of providers) await this.#askIfDue(provider);
  }

  async #read(): Promise<void> {
    const version = await this.#store.version();
    if (version === this.#version) return;
    const read = await this.#store.read();
    // A store that was emptied tells nothing: what is known stays until its upstream was asked again.
    for (const [provider, list] of this.#known) if (!read.has(provider)) read.set(provider, list);
    this.#known = read;
    this.#version = version;
  }

  #offer(providers: readonly DiscoveringProvider[]): void {
    const now = this.#options.clock.now();
    const offered = new Map<string, readonly string[]>();
    for (const provider of providers) {
      const { models = [], listedAt } = this.known(provider.id) ?? {};
      const isKept = listedAt !== undefined && now - listedAt <= provider.discovery.keepMs;
      offered.set(provider.id, isKept ? models : []);
    }
    if (!this.#options.live.takeDiscovered(offered)) return;
    const counts = [...offered].map(([provider, { length }]) => [provider, length]);
    this.#options.logger.info({ listed: Object.fromEntries(counts) }, 'discovered models changed');
  }

  async #askIfDue(provider: DiscoveringProvider): Promise<void> {
    const { id, discovery } = provider;
    if (this.#asking.has(id) || !(await this.#store.mayAsk(provider, discovery.everyMs))) return;
    const asking = this.#ask(provider)
      .catch(this.#warn)
      .finally(() => this.#asking.delete(id));
    this.#asking.set(id, asking);
  }

  async #ask(provider: DiscoveringProvider): Promise<void> {
    const { ask, clock, logger } = this.#options;
    const answer = await ask?.(provider, this.#stopping.signal);
    if (answer === undefined) return;
    if (this.#stopping.signal.aborted) {
      // Another process may ask at once.
      await this.#store.askAgainIn(provider, 1);
      return;
    }
    const { id, discovery } = provider;
    const before = this.#known.get(id);
    const about = { provider: id };
    if ('models' in answer) {
      if (before?.fault !== undefined) logger.info(about, 'upstream lists its models again');
      const list = { models: answer.models, listedAt: clock.now() };
      await this.#store.write(id, list, this.#outdated());
      return;
    }
    if (before?.fault !== answer.fault) {
      logger.warn(
        { ...about, fault: answer.fault },
        'upstream lists no models, those known stay for a while',
      );
    }
    await this.#store.write(id, { models: [], ...before, fault: answer.fault });
    await this.#store.askAgainIn(provider, Math.min(retryMs, discovery.everyMs));
  }

  /** Providers that are no longer in the settings of this process, and that nobody has asked for a long time. */
  #outdated(): string[] {
    const now = this.#options.clock.now();
    const ids = new Set(this.#options.live.providers.filter(isDiscovering).map(({ id }) => id));
    return [...this.#known]
      .filter(([id, { listedAt = 0 }]) => !ids.has(id) && now - listedAt > forgottenAfterMs)
      .map(([id]) => id);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await pause(this.#options.lookEveryMs ?? defaultLookEveryMs, signal);
      if (!signal.aborted) await this.look().catch(this.#warn);
    }
  }
}

/** A list that nobody renews is removed from Redis after this long, in milliseconds: a week. */
const forgottenAfterMs = 604_800_000;
