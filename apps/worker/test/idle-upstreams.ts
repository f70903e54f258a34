import type { Provider } from '@sluice/providers';
import { Telemetry } from '@sluice/runtime';
import type { BreakerSettings } from '../src/circuit-breaker.ts';
import { UpstreamHealth, type UpstreamHealthOptions } from '../src/upstream-health.ts';

/** A provider that nobody calls. */
export function idleProvider(id = 'up'): Provider {
  return {
    id,
    generate: () => {
      throw new Error('nobody calls it');
    },
    close: () => Promise.resolve(),
  };
}

interface HealthOptions extends Partial<Omit<UpstreamHealthOptions, 'breaker'>> {
  routes: UpstreamHealthOptions['routes'];
  now: () => number;
  breaker?: Partial<BreakerSettings>;
}

/** The health of upstreams whose breakers open with failures in a row alone. */
export function healthOf({ breaker, ...options }: HealthOptions): UpstreamHealth {
  return new UpstreamHealth({
    pressure: new Map(),
    saturation: new Map(),
    slotsOf: () => 32,
    onSaturated: () => undefined,
    longestRetryAfterMs: 60_000,
    telemetry: new Telemetry((error) => {
      throw error;
    }),
    random: () => 0,
    ...options,
    breaker: {
      consecutiveFailures: 100,
      failurePercent: 100,
      minimumCalls: 1_000,
      windowMs: 10_000,
      openMs: 1_000,
      longestOpenMs: 60_000,
      ...breaker,
    },
  });
}
