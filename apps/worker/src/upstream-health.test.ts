import { type Provider, ProviderError, type ProviderErrorOptions } from '@sluice/providers';
import { Telemetry } from '@sluice/runtime';
import { within } from '@sluice/testing';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { ModelRoute } from './model-routes.ts';
import { UpstreamHealth } from './upstream-health.ts';
import { logWorker } from './worker-log.ts';
import { countWorker } from './worker-metrics.ts';

const provider = (id: string): Provider => ({
  id,
  generate: () => {
    throw new Error('nothing is called here');
  },
  close: () => Promise.resolve(),
});

const a = provider('a');
const small: ModelRoute = { provider: a, model: 'small' };
const large: ModelRoute = { provider: a, model: 'large' };
const elsewhere: ModelRoute = { provider: provider('b'), model: 'small' };

function setUp() {
  let at = 0;
  const logged: string[] = [];
  const write = (fields: object, message: string) => logged.push(`${message} ${JSON.stringify(fields)}`);
  const telemetry = new Telemetry((error) => {
    throw error;
  });
  logWorker(telemetry, { info: write, warn: write, error: write } as never);
  const health = new UpstreamHealth({
    routes: [small, large, elsewhere],
    pressure: new Map(),
    saturation: new Map(),
    slotsOf: () => 32,
    onSaturated: () => undefined,
    breaker: {
      consecutiveFailures: 2,
      failurePercent: 100,
      minimumCalls: 1_000,
      windowMs: 10_000,
      openMs: 1_000,
      longestOpenMs: 60_000,
    },
    longestRetryAfterMs: 60_000,
    telemetry,
    now: () => at,
    random: () => 0,
  });
  const registry = new Registry();
  countWorker(telemetry, registry, { running: () => 0, upstreams: () => health.status() });
  const fail = (route: ModelRoute, options: Partial<ProviderErrorOptions>) =>
    health
      .begin(route)
      ?.failed(new ProviderError('upstream_error', 'no', { disposition: 'retry', ...options }));
  const goDown = (route: ModelRoute) => {
    for (const fault of ['refused', 'broken'] as const) fail(route, { fault });
  };
  return {
    ...{ health, registry, logged, fail, goDown },
    pass: (ms: number) => {
      at += ms;
    },
  };
}

describe('the health of upstreams', () => {
  it('is that of a provider when it is down, and of no other', () => {
    const { health, goDown } = setUp();
    goDown(small);
    expect(health.blockOf(small)).toEqual({ because: 'open', waitMs: 1_000, downMs: 0 });
    expect(health.blockOf(large)).toEqual({ because: 'open', waitMs: 1_000, downMs: 0 });
    expect(health.blockOf(elsewhere)).toBeUndefined();
  });

  it('is that of one model when it is limited', () => {
    const { health, fail } = setUp();
    fail(small, { fault: 'limited', retryAfterMs: 3_000, upstreamStatus: 429 });
    expect(health.blockOf(small)).toEqual({ because: 'parked', waitMs: 3_000 });
    expect(health.blockOf(large)).toBeUndefined();
    expect(health.blockOf(elsewhere)).toBeUndefined();
  });

  it.each([
    ['a limit', { fault: 'limited', upstreamStatus: 429 }],
    ['a request that is refused for its own fault', { upstreamStatus: 400 }],
  ] as const)('takes %s for a sign of life', (_, options) => {
    const { health, fail, goDown, pass } = setUp();
    goDown(large);
    pass(1_000);
    fail(small, options);
    expect(health.blockOf(large)).toBeUndefined();
  });

  it('does not take for a sign of life what never reached the upstream', () => {
    const { health, fail, goDown, pass } = setUp();
    goDown(small);
    pass(1_000);
    fail(small, {});
    expect(health.status()[0]).toMatchObject({ breaker: 'half_open' });
    health.begin(small)?.abandoned();
    expect(health.status()[0]).toMatchObject({ breaker: 'half_open' });
  });

  it('takes no second call while one finds out whether the upstream is back', () => {
    const { health, goDown, pass } = setUp();
    goDown(small);
    pass(1_000);
    health.begin(large);
    expect(health.blockOf(small)).toMatchObject({ because: 'open', downMs: 1_000 });
    expect(health.begin(small)).toBeUndefined();
  });

  it('wakes whoever waits for a route as soon as the upstream is back', async () => {
    const { health, goDown, pass } = setUp();
    goDown(small);
    pass(1_000);
    const probe = health.begin(small);
    const waiting = health.pause(3_600_000, new AbortController().signal);
    probe?.answered(() => 1);
    await within(waiting);
  });

  it('ends a wait whose signal aborts, before it or meanwhile', async () => {
    const { health } = setUp();
    await within(health.pause(3_600_000, AbortSignal.abort()));
    const controller = new AbortController();
    const waiting = health.pause(3_600_000, controller.signal);
    controller.abort();
    await within(waiting);
  });
});

describe('what an operator sees of upstreams', () => {
  it('is a report of each, with its models', () => {
    const { health, fail, goDown } = setUp();
    goDown(elsewhere);
    fail(large, { fault: 'limited', retryAfterMs: 3_000 });
    const free = { inFlight: 0, limit: 32, callsPerSecond: null, waiting: 0 };
    expect(health.status()).toEqual([
      {
        provider: 'a',
        breaker: 'closed',
        opensInMs: 0,
        routes: [
          { model: 'small', parkedMs: 0, ...free },
          { model: 'large', parkedMs: 3_000, ...free },
        ],
      },
      {
        provider: 'b',
        breaker: 'open',
        opensInMs: 1_000,
        routes: [{ model: 'small', parkedMs: 0, ...free }],
      },
    ]);
  });

  it('is metrics with the names of the file', async () => {
    const { registry, fail, goDown } = setUp();
    fail(large, { fault: 'limited', retryAfterMs: 3_000 });
    goDown(elsewhere);
    const lines = (await registry.metrics()).split('\n');
    expect(lines).toContain('sluice_upstream_breaker_state{provider="a"} 0');
    expect(lines).toContain('sluice_upstream_breaker_state{provider="b"} 2');
    expect(lines).toContain('sluice_upstream_breaker_openings_total{provider="b"} 1');
    expect(lines).toContain('sluice_upstream_parked_seconds{provider="a",upstream_model="large"} 3');
    expect(lines).toContain('sluice_upstream_parked_seconds{provider="a",upstream_model="small"} 0');
    expect(lines).toContain('sluice_upstream_parkings_total{provider="a",upstream_model="large"} 1');
  });

  it('is a line at each change, and few of them while an upstream flaps', () => {
    const { health, logged, goDown, pass } = setUp();
    for (let times = 0; times < 5; times += 1) {
      goDown(small);
      pass(60_000);
      health.begin(small)?.succeeded();
    }
    expect(logged).toEqual([
      'upstream is down: it gets no calls {"provider":"a","openMs":1000,"suppressed":0}',
      'upstream is back {"provider":"a","suppressed":0}',
    ]);
  });
});
