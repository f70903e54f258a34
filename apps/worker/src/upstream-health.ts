import type { ProviderError } from '@sluice/providers';
import { pause, type Telemetry } from '@sluice/runtime';
import { type BreakerSettings, type BreakerState, CircuitBreaker } from './circuit-breaker.ts';
import type { ModelRoute, RouteBlock } from './model-routes.ts';
import { ParkedRoute } from './parked-route.ts';

/** How soon a call is worth another look while a probe is under way, in milliseconds. Nobody knows how long that takes. */
const probeLookMs = 1_000;

export interface UpstreamHealthOptions {
  /** Every route of every model. */
  routes: Iterable<ModelRoute>;
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
  /** The upstream has begun to answer. */
  answered(): void;
  succeeded(): void;
  failed(error: ProviderError): void;
  /** Ended by us, for a reason that says nothing about the upstream. */
  abandoned(): void;
}

/** What an operator sees of an upstream. Times are milliseconds from now. */
export interface UpstreamStatus {
  provider: string;
  breaker: BreakerState;
  opensInMs: number;
  routes: { model: string; parkedMs: number }[];
}

/**
 * What this process knows about its upstreams: a circuit breaker for each provider, and for each of its models until
 * when it is parked. Limits are an upstream's own and mostly for each model, so one model may be parked while others of the
 * provider take calls.
 */
export class UpstreamHealth {
  readonly #options: UpstreamHealthOptions;
  readonly #breakers = new Map<string, CircuitBreaker>();
  readonly #parked = new Map<string, Map<string, ParkedRoute>>();
  readonly #waiting = new Set<() => void>();

  constructor(options: UpstreamHealthOptions) {
    this.#options = options;
    const { longestRetryAfterMs: longestMs, now } = options;
    for (const { provider, model } of options.routes) {
      const parked = this.#parked.get(provider.id) ?? new Map<string, ParkedRoute>();
      if (!parked.has(model)) parked.set(model, new ParkedRoute({ longestMs, now }));
      this.#parked.set(provider.id, parked);
      if (!this.#breakers.has(provider.id)) this.#breakers.set(provider.id, this.#breakerOf(provider.id));
    }
  }

  /** Why a route takes no calls now; undefined when it does. */
  blockOf(route: ModelRoute): RouteBlock | undefined {
    const { breaker, parked } = this.#of(route);
    const parkedMs = parked.waitMs;
    if (breaker.admits) return parkedMs > 0 ? { because: 'parked', waitMs: parkedMs } : undefined;
    const waitMs = Math.max(breaker.opensInMs || probeLookMs, parkedMs);
    return { because: 'open', waitMs, downMs: breaker.downMs };
  }

  /**
   * Begins a call of a route; of an upstream that was down, the one that finds out whether it is back. Undefined when it
   * takes none, which may be news since the last look at it.
   */
  begin(route: ModelRoute): RouteCall | undefined {
    const { telemetry, now } = this.#options;
    const { breaker, parked } = this.#of(route);
    const calledAt = now();
    const call = breaker.begin();
    if (!call) return undefined;
    return {
      answered: () => call.answered(),
      succeeded: () => {
        parked.answered();
        call.succeeded();
      },
      abandoned: () => call.abandoned(),
      failed: ({ fault, upstreamStatus, retryAfterMs }) => {
        if (fault === 'refused' || fault === 'broken') call.failed();
        // An upstream that answered is not down, whatever it thinks of the request.
        else if (fault === 'limited' || upstreamStatus !== undefined) call.succeeded();
        else call.abandoned();
        if (fault !== 'limited') return;
        const wasParked = parked.waitMs > 0;
        parked.limited(calledAt, retryAfterMs);
        if (wasParked) return;
        const { provider, model: upstreamModel } = route;
        telemetry.emit('upstream.parked', { provider: provider.id, upstreamModel, parkedMs: parked.waitMs });
      },
    };
  }

  /** Resolves after a delay, at the next change of a breaker, or as soon as the signal aborts. */
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
    return [...this.#breakers].map(([provider, breaker]) => ({
      provider,
      breaker: breaker.state,
      opensInMs: Math.ceil(breaker.opensInMs),
      routes: [...(this.#parked.get(provider) ?? [])].map(([model, { waitMs }]) => ({
        model,
        parkedMs: Math.ceil(waitMs),
      })),
    }));
  }

  #of({ provider, model }: ModelRoute): { breaker: CircuitBreaker; parked: ParkedRoute } {
    const breaker = this.#breakers.get(provider.id);
    const parked = this.#parked.get(provider.id)?.get(model);
    if (!breaker || !parked)
      throw new RangeError(`There is no route to '${model}' of provider '${provider.id}'`);
    return { breaker, parked };
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
