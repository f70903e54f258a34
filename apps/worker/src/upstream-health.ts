import type { Provider } from '@sluice/providers';
import { pause, type Telemetry } from '@sluice/runtime';
import { type BreakerSettings, type BreakerState, CircuitBreaker } from './circuit-breaker.ts';
import type { ModelRoute, RouteBlock } from './model-routes.ts';
import type { OwnLimits } from './own-limits.ts';
import { type PressureSettings, RoutePressure } from './pressure/route-pressure.ts';
import { type SaturationSettings, SaturationWatch } from './pressure/saturation-watch.ts';
import type { CallOwner } from './route-breaker.ts';
import { type RouteCall, RouteHealth, type WaitingResponse } from './route-health.ts';
import { type AboutUpstream, faultsOf, statusOf, type UpstreamStatus, worstOf } from './upstream-status.ts';

/** The settings of an upstream that has none of its own. */
const defaultPressure: PressureSettings = { adaptive: true, floor: 1 };

/** The upstreams whose health is kept. */
export interface KnownUpstreams {
  /** Every route of every model. Of two upstreams with one id and no servers, reports show the first. */
  routes: Iterable<ModelRoute>;
  /** By the id of a provider. */
  pressure: ReadonlyMap<string, PressureSettings>;
  /** By the id of a provider, or by the key of one of its servers. */
  saturation: ReadonlyMap<string, SaturationSettings>;
  /** The variable with its key that this process lacks, by the id of a provider. */
  missing?: ReadonlyMap<string, string>;
  /** Calls of a route that this process could have in flight. */
  slotsOf: (route: ModelRoute) => number;
}

export interface UpstreamHealthOptions extends KnownUpstreams {
  /** A model of the provider gets no calls because too many wait there. Called at each reading. */
  onSaturated: (provider: string) => void;
  breaker: BreakerSettings;
  /** The longest time that an upstream can ask us to wait, in milliseconds. */
  longestRetryAfterMs: number;
  telemetry: Telemetry;
  /** For durations, in milliseconds. */
  now: () => number;
  /** From 0 to 1. */
  random: () => number;
}

/** Responses that waited for a route that is back call it one after another within this time, in milliseconds. */
const comeBackMs = 1_000;

/** An upstream, which is one server: its connection, and the health of its models by name. */
interface Upstream {
  about: AboutUpstream;
  connection: CircuitBreaker;
  watch: SaturationWatch | undefined;
  routes: Map<string, RouteHealth>;
}

/**
 * The health of all upstreams, as this process knows it: a circuit breaker for the connection to each provider, and the
 * health of each of its models. An upstream mostly limits and fails by model, so one model may be parked or down while
 * others take calls. Each server of a provider that has several is an upstream of its own.
 */
export class UpstreamHealth {
  readonly #options: UpstreamHealthOptions;
  /** Those that responses under way may still call, too. */
  readonly #upstreams = new WeakMap<Provider, Upstream>();
  /** The routes of each provider in effect, by model. */
  #inEffect: ReadonlyMap<Provider, ReadonlyMap<string, ModelRoute>> = new Map();
  #known: KnownUpstreams;
  readonly #waiting = new Set<() => void>();
  readonly #stopping = new Set<Promise<void>>();
  #hasStarted = false;
  #nextOrder = 0;

  constructor(options: UpstreamHealthOptions) {
    this.#options = options;
    this.#known = options;
    this.take(options);
  }

  /**
   * Keeps the health of these upstreams from now on. What is known of a provider that stays the same object stays; another
   * object begins anew. A response under way may go on with an upstream that is no longer among them.
   */
  take(known: KnownUpstreams): void {
    this.#known = known;
    const inEffect = new Map<Provider, Map<string, ModelRoute>>();
    for (const route of known.routes) {
      const ofProvider = inEffect.get(route.provider) ?? new Map<string, ModelRoute>();
      if (!ofProvider.has(route.model)) ofProvider.set(route.model, route);
      inEffect.set(route.provider, ofProvider);
    }
    for (const provider of this.#inEffect.keys()) {
      const stopped = inEffect.has(provider) ? undefined : this.#upstreams.get(provider)?.watch?.stop();
      if (!stopped) continue;
      this.#stopping.add(stopped);
      void stopped.finally(() => this.#stopping.delete(stopped));
    }
    for (const routes of inEffect.values()) {
      for (const route of routes.values()) this.#of(route).pressure.most = known.slotsOf(route);
    }
    this.#inEffect = inEffect;
    if (this.#hasStarted) this.start();
  }

  /** Begins to read the queues of those upstreams whose metrics are known. */
  start(): void {
    this.#hasStarted = true;
    for (const provider of this.#inEffect.keys()) this.#upstreams.get(provider)?.watch?.start();
  }

  async stop(): Promise<void> {
    this.take({ routes: [], pressure: new Map(), saturation: new Map(), slotsOf: () => 1 });
    await Promise.all(this.#stopping);
  }

  /** Why a route takes no call of a response now, or of a new tenant without one; undefined when it does. */
  blockOf(route: ModelRoute, response?: WaitingResponse): RouteBlock | undefined {
    return this.#of(route).blockOf(response);
  }

  /** Why a route takes no call of any tenant; undefined when it may take one. */
  blockOfAll(route: ModelRoute): RouteBlock | undefined {
    return this.#of(route).blockOfAll();
  }

  /**
   * Begins a call of a route. If the route was down, the call is the probe. Undefined when the route takes none, which may
   * have changed since the last look.
   */
  begin(route: ModelRoute, response: WaitingResponse): RouteCall | undefined {
    return this.#of(route).begin(response);
  }

  /** Gives a response its place among those that wait for routes. The first to come is served first. */
  waiter(owner: CallOwner & { limits: OwnLimits }): WaitingResponse {
    this.#nextOrder += 1;
    const { tenant, responseId, limits } = owner;
    return { tenant, responseId, limits, order: this.#nextOrder, lines: new Set(), wake: () => undefined };
  }

  /** Whether another response may wait here for a route that takes no calls, or for its turn. Half of the slots are for those that can run. */
  mayWaitFor(route: ModelRoute): boolean {
    const { waiting, pressure } = this.#of(route);
    return waiting.size + pressure.status.waiting < Math.max(1, pressure.most / 2);
  }

  /** The health of a route. */
  at(route: ModelRoute): Pick<RouteHealth, 'servesOthers' | 'away' | 'pressure'> {
    return this.#of(route);
  }

  /**
   * Waits for the first of these routes: in the line of each that is busy, and for news of the others; see `pause`. When a
   * route that was down is back, its waiters come at random moments ("full jitter"): all of them at once could bring it down
   * again.
   */
  async waitForTurn(
    waiter: WaitingResponse,
    routes: readonly ModelRoute[],
    { atMostMs, signal }: { atMostMs: number; signal: AbortSignal },
  ): Promise<void> {
    const woken = new AbortController();
    waiter.wake = () => woken.abort();
    const busy = new Set<RoutePressure>();
    const blocked = new Set<RouteHealth>();
    for (const route of routes) {
      const health = this.#of(route);
      if (health.blockOf(waiter)?.because === 'busy') busy.add(health.pressure);
      else blocked.add(health);
    }
    const down = [...blocked].filter(({ isDown }) => isDown);
    for (const line of waiter.lines) if (!busy.has(line)) line.leave(waiter);
    for (const line of busy) line.join(waiter);
    for (const health of blocked) health.waiting.add(waiter);
    const turn = AbortSignal.any([signal, woken.signal]);
    try {
      await this.pause(atMostMs, turn);
      if (down.some(({ isDown }) => !isDown)) await pause(this.#options.random() * comeBackMs, turn);
    } finally {
      for (const health of blocked) health.waiting.delete(waiter);
    }
  }

  /** Leaves every line. Safe to call twice. */
  leave(waiter: WaitingResponse): void {
    waiter.wake = () => undefined;
    for (const line of waiter.lines) line.leave(waiter);
  }

  /** Resolves after a delay, at the next news of an upstream, or as soon as the signal aborts. */
  async pause(delayMs: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const wake = () => woken.abort();
    this.#waiting.add(wake);
    signal.addEventListener('abort', wake, { once: true });
    if (signal.aborted) wake();
    try {
      await pause(delayMs, woken.signal);
    } finally {
      this.#waiting.delete(wake);
      signal.removeEventListener('abort', wake);
    }
  }

  /** Every upstream that a model has a route to. */
  status(): UpstreamStatus[] {
    const told = new Map<string, UpstreamStatus>();
    for (const [provider, models] of this.#inEffect) {
      const upstream = this.#upstreams.get(provider);
      if (!upstream) continue;
      const { about, connection, watch } = upstream;
      const name = `${about.provider} ${about.server ?? ''}`;
      if (told.has(name)) continue;
      const routes = [...upstream.routes].filter(([model]) => models.has(model));
      told.set(name, {
        ...about,
        ...worstOf([connection, ...routes.map(([, { breaker }]) => breaker)]),
        ...faultsOf(watch?.fault, this.#known.missing?.get(about.provider)),
        routes: routes.map(([model, health]) => statusOf(model, health)),
      });
    }
    return [...told.values()];
  }

  /**
   * The health of a route, which is new if the route is. It may be of no model in effect: a response under way goes on with the name
   * that the upstream had for its model, also at servers that come later. What is kept of a server goes with its provider.
   */
  #of(route: ModelRoute): RouteHealth {
    const upstream = this.#upstreams.get(route.provider) ?? this.#addUpstream(route);
    const found = upstream.routes.get(route.model);
    if (found) return found;
    const added = this.#healthOf(route, upstream);
    upstream.routes.set(route.model, added);
    return added;
  }

  #addUpstream({ provider, server }: ModelRoute): Upstream {
    const about = { provider: provider.id, ...(server && { server: server.name }) };
    const watch = this.#watchOf(about, this.#known.saturation.get(server?.key ?? provider.id));
    const upstream = { about, connection: this.#connectionOf(about), watch, routes: new Map() };
    this.#upstreams.set(provider, upstream);
    return upstream;
  }

  #healthOf(
    route: ModelRoute,
    { about: upstream, connection, watch }: Pick<Upstream, 'about' | 'connection' | 'watch'>,
  ): RouteHealth {
    const { longestRetryAfterMs, now, random, breaker, telemetry } = this.#options;
    const gate = watch?.gate(route.model);
    const about = { ...upstream, upstreamModel: route.model };
    return new RouteHealth({
      route,
      connection,
      gate,
      longestRetryAfterMs,
      now,
      random,
      settings: breaker,
      pressure: this.#pressureOf(route),
      nextReadingMs: () => watch?.nextMs,
      onChange: (state, openMs) => this.#tellBreaker(about, state, openMs),
      onRefused: () => telemetry.emit('upstream.refused', about),
      onParked: (parkedMs) => telemetry.emit('upstream.parked', { ...about, parkedMs }),
    });
  }

  #pressureOf(route: ModelRoute): RoutePressure {
    const { now, random } = this.#options;
    const { pressure, slotsOf } = this.#known;
    const { adaptive, floor, latencyTolerance } = pressure.get(route.provider.id) ?? defaultPressure;
    const most = slotsOf(route);
    return new RoutePressure({ isAdaptive: adaptive, floor, most, latencyTolerance, now, random });
  }

  #watchOf(about: AboutUpstream, settings: SaturationSettings | undefined): SaturationWatch | undefined {
    const { now, telemetry, onSaturated } = this.#options;
    if (!settings) return undefined;
    return new SaturationWatch({
      settings,
      now,
      onFault: (fault) => telemetry.emit('upstream.metrics', { ...about, fault }),
      onChange: (change) => telemetry.emit('upstream.saturated', { ...about, ...change }),
      onReading: (isSaturated) => {
        if (isSaturated) onSaturated(about.provider);
        for (const wake of this.#waiting) wake();
      },
    });
  }

  #connectionOf(about: AboutUpstream): CircuitBreaker {
    const { breaker: settings, now, random } = this.#options;
    const onChange = (state: BreakerState, openMs: number) => this.#tellBreaker(about, state, openMs);
    return new CircuitBreaker({ settings, now, random, onChange });
  }

  #tellBreaker(of: AboutUpstream & { upstreamModel?: string }, state: BreakerState, openMs: number): void {
    this.#options.telemetry.emit('upstream.breaker', { ...of, state, openMs });
    for (const wake of this.#waiting) wake();
  }
}
