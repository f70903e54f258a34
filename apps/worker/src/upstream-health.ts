import type { ProviderError } from '@sluice/providers';
import { pause, type Telemetry } from '@sluice/runtime';
import { type BreakerSettings, CircuitBreaker } from './circuit-breaker.ts';
import type { ModelRoute, RouteBlock } from './model-routes.ts';
import { ParkedRoute } from './parked-route.ts';
import { RoutePressure, type Waiter } from './pressure/route-pressure.ts';
import type { SaturationGate } from './pressure/saturation-gate.ts';
import { type SaturationSettings, SaturationWatch } from './pressure/saturation-watch.ts';
import { type RouteState, statusOf, type UpstreamStatus } from './upstream-status.ts';

/** How soon a call is worth another look while a probe is under way, in milliseconds. Nobody knows how long that takes. */
const probeLookMs = 1_000;

/** How this process answers to an upstream that has too much to do; see `pressure` of a provider in the settings. */
export interface PressureSettings {
  adaptive: boolean;
  floor: number;
  latencyTolerance?: number;
}

/** What an upstream with no settings of its own gets. */
const defaultPressure: PressureSettings = { adaptive: true, floor: 1 };

export interface UpstreamHealthOptions {
  /** Every route of every model. */
  routes: Iterable<ModelRoute>;
  /** By the id of a provider. */
  pressure: ReadonlyMap<string, PressureSettings>;
  saturation: ReadonlyMap<string, SaturationSettings>;
  /** Calls of a route that this process could have in flight. */
  slotsOf: (route: ModelRoute) => number;
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

/** A call of a route. What it says of the upstream is counted once. */
export interface RouteCall {
  /** The upstream has begun to answer. `sizeOf` tells the size of the prompt, in any unit. */
  answered(sizeOf: () => number): void;
  succeeded(): void;
  failed(error: ProviderError): void;
  /** Ended by us, for a reason that says nothing about the upstream. */
  abandoned(): void;
}

/**
 * What this process knows about its upstreams: a circuit breaker for each provider, and for each of its models until
 * when it is parked, how many calls it gets, and how many wait there. Limits are an upstream's own and mostly for each
 * model, so one model may be parked while others of the provider take calls.
 */
export class UpstreamHealth {
  readonly #options: UpstreamHealthOptions;
  readonly #breakers = new Map<string, CircuitBreaker>();
  readonly #states = new Map<string, Map<string, RouteState>>();
  readonly #watches = new Map<string, SaturationWatch>();
  readonly #waiting = new Set<() => void>();
  #nextOrder = 0;

  constructor(options: UpstreamHealthOptions) {
    this.#options = options;
    const models = new Map<string, ModelRoute[]>();
    for (const route of options.routes) {
      const ofProvider = models.get(route.provider.id) ?? [];
      if (ofProvider.every(({ model }) => model !== route.model)) ofProvider.push(route);
      models.set(route.provider.id, ofProvider);
    }
    for (const [provider, routes] of models) {
      this.#breakers.set(provider, this.#breakerOf(provider));
      const watch = this.#watchOf(provider, routes);
      if (watch) this.#watches.set(provider, watch);
      this.#states.set(
        provider,
        new Map(routes.map((route) => [route.model, this.#stateOf(route, watch?.gate(route.model))])),
      );
    }
  }

  /** Begins to read the queues of those upstreams whose metrics are known. */
  start(): void {
    for (const watch of this.#watches.values()) watch.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#watches.values()].map((watch) => watch.stop()));
  }

  /** Why a route takes no call now, for one who waits or for a newcomer; undefined when it does. */
  blockOf(route: ModelRoute, waiter?: Waiter): RouteBlock | undefined {
    const { breaker, parked, pressure, gate } = this.#of(route);
    const parkedMs = parked.waitMs;
    if (!breaker.admits) {
      const waitMs = Math.max(breaker.opensInMs || probeLookMs, parkedMs);
      return { because: 'open', waitMs, downMs: breaker.downMs };
    }
    if (parkedMs > 0) return { because: 'parked', waitMs: parkedMs };
    if (gate?.isClosed) {
      return { because: 'saturated', waitMs: this.#watches.get(route.provider.id)?.nextMs ?? probeLookMs };
    }
    const turn = pressure.blockFor(waiter);
    return turn && { because: 'busy', ...turn };
  }

  /**
   * Begins a call of a route; of an upstream that was down, the one that finds out whether it is back. Undefined when it
   * takes none, which may be news since the last look at it.
   */
  begin(route: ModelRoute, waiter?: Waiter): RouteCall | undefined {
    const { now } = this.#options;
    const { breaker, parked, pressure, gate } = this.#of(route);
    const calledAt = now();
    if (gate?.isClosed || pressure.blockFor(waiter)) return undefined;
    const call = breaker.begin();
    if (!call) return undefined;
    gate?.begin();
    const turn = pressure.begin();
    let isOver = false;
    const end = (last: () => void) => {
      if (isOver) return;
      isOver = true;
      last();
      gate?.ended();
      turn.ended();
    };
    return {
      answered: (sizeOf) => {
        call.answered();
        parked.answered(calledAt);
        turn.answered(sizeOf);
      },
      succeeded: () =>
        end(() => {
          call.succeeded();
          turn.succeeded();
        }),
      abandoned: () => end(() => call.abandoned()),
      failed: (error) =>
        end(() => {
          const { fault, upstreamStatus, retryAfterMs } = error;
          if (fault === 'refused' || fault === 'broken') call.failed();
          // An upstream that answered is not down, whatever it thinks of the request.
          else if (fault === 'limited' || upstreamStatus !== undefined) call.succeeded();
          else call.abandoned();
          if (fault === 'limited') this.#park(route, parked, { calledAt, retryAfterMs });
          if (!isOverload(error)) return;
          turn.refused(fault === 'limited' ? now() + parked.waitMs : undefined);
          const { provider, model: upstreamModel } = route;
          this.#options.telemetry.emit('upstream.refused', { provider: provider.id, upstreamModel });
        }),
    };
  }

  /** Someone who waits for routes. Who was here first is served first. */
  waiter(): Waiter {
    this.#nextOrder += 1;
    return { order: this.#nextOrder, lines: new Set(), wake: () => undefined };
  }

  /** Waits in the line of each of these routes that is busy, until its turn has come; see `pause` for the rest. */
  async waitForTurn(
    waiter: Waiter,
    routes: readonly ModelRoute[],
    { atMostMs, signal }: { atMostMs: number; signal: AbortSignal },
  ): Promise<void> {
    const woken = new AbortController();
    waiter.wake = () => woken.abort();
    const busy = new Set<RoutePressure>();
    for (const route of routes) {
      if (this.blockOf(route, waiter)?.because === 'busy') busy.add(this.#of(route).pressure);
    }
    for (const line of waiter.lines) if (!busy.has(line)) line.leave(waiter);
    for (const line of busy) line.join(waiter);
    await this.pause(atMostMs, AbortSignal.any([signal, woken.signal]));
  }

  /** Waits for nothing any more. May be called twice. */
  leave(waiter: Waiter): void {
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
    return [...this.#breakers].map(([provider, breaker]) => {
      const fault = this.#watches.get(provider)?.fault;
      return {
        provider,
        breaker: breaker.state,
        opensInMs: Math.ceil(breaker.opensInMs),
        ...(fault !== undefined && { metricsFault: fault }),
        routes: [...(this.#states.get(provider) ?? [])].map(([model, state]) => statusOf(model, state)),
      };
    });
  }

  #of({ provider, model }: ModelRoute): RouteState & { breaker: CircuitBreaker } {
    const breaker = this.#breakers.get(provider.id);
    const state = this.#states.get(provider.id)?.get(model);
    if (!breaker || !state)
      throw new RangeError(`There is no route to '${model}' of provider '${provider.id}'`);
    return { breaker, ...state };
  }

  #stateOf(route: ModelRoute, gate: SaturationGate | undefined): RouteState {
    const { longestRetryAfterMs: longestMs, now, random, pressure, slotsOf } = this.#options;
    const { adaptive, floor, latencyTolerance } = pressure.get(route.provider.id) ?? defaultPressure;
    return {
      parked: new ParkedRoute({ longestMs, now }),
      pressure: new RoutePressure({
        isAdaptive: adaptive,
        floor,
        most: slotsOf(route),
        latencyTolerance,
        now,
        random,
      }),
      gate,
    };
  }

  #park(
    { provider, model: upstreamModel }: ModelRoute,
    parked: ParkedRoute,
    { calledAt, retryAfterMs }: { calledAt: number; retryAfterMs: number | undefined },
  ): void {
    const wasParked = parked.waitMs > 0;
    parked.limited(calledAt, retryAfterMs);
    if (wasParked) return;
    const parkedMs = parked.waitMs;
    this.#options.telemetry.emit('upstream.parked', { provider: provider.id, upstreamModel, parkedMs });
  }

  #watchOf(provider: string, routes: readonly ModelRoute[]): SaturationWatch | undefined {
    const { saturation, now, telemetry, onSaturated } = this.#options;
    const settings = saturation.get(provider);
    if (!settings) return undefined;
    return new SaturationWatch({
      settings,
      models: routes.map(({ model }) => model),
      now,
      onFault: (fault) => telemetry.emit('upstream.metrics', { provider, fault }),
      onChange: (change) => telemetry.emit('upstream.saturated', { provider, ...change }),
      onReading: (isSaturated) => {
        if (isSaturated) onSaturated(provider);
        for (const wake of this.#waiting) wake();
      },
    });
  }

  #breakerOf(provider: string): CircuitBreaker {
    const { breaker: settings, now, random, telemetry } = this.#options;
    return new CircuitBreaker({
      settings,
      now,
      random,
      onChange: (state, openMs) => {
        telemetry.emit('upstream.breaker', { provider, state, openMs });
        for (const wake of this.#waiting) wake();
      },
    });
  }
}

/** Statuses of a server that has too much to do, with or without `Retry-After`. */
const busyStatuses: ReadonlySet<number | undefined> = new Set([503, 529]);

/** Whether a call was refused because there are too many of them. */
function isOverload({ fault, upstreamStatus, code }: ProviderError): boolean {
  if (fault === 'limited') return true;
  return fault === 'refused' && (busyStatuses.has(upstreamStatus) || code === 'server_is_overloaded');
}
