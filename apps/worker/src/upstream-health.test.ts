import { ProviderError, type ProviderErrorOptions } from '@sluice/providers';
import { Telemetry } from '@sluice/runtime';
import { randomFrom, within } from '@sluice/testing';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { healthOf, idleProvider } from '../test/idle-upstreams.ts';
import { sendAway } from './find-route.ts';
import type { ModelRoute } from './model-routes.ts';
import { OwnLimits } from './own-limits.ts';
import { logWorker } from './worker-log.ts';
import { countWorker } from './worker-metrics.ts';

const a = idleProvider('a');
const small: ModelRoute = { provider: a, model: 'small' };
const large: ModelRoute = { provider: a, model: 'large' };
const elsewhere: ModelRoute = { provider: idleProvider('b'), model: 'small' };

interface SetUpOptions {
  adaptive?: boolean;
  latencyTolerance?: number;
  random?: () => number;
}

function setUp({ adaptive = true, latencyTolerance = 0, random = () => 0 }: SetUpOptions = {}) {
  let at = 0;
  const logged: string[] = [];
  const write = (fields: object, message: string) => logged.push(`${message} ${JSON.stringify(fields)}`);
  const telemetry = new Telemetry((error) => {
    throw error;
  });
  logWorker(telemetry, { info: write, warn: write, error: write } as never);
  const health = healthOf({
    routes: [small, large, elsewhere],
    pressure: new Map([['a', { adaptive, floor: 1, ...(latencyTolerance && { latencyTolerance }) }]]),
    breaker: { consecutiveFailures: 2 },
    telemetry,
    now: () => at,
    random,
  });
  const registry = new Registry();
  countWorker(telemetry, registry, { running: () => 0, upstreams: () => health.status() });
  let responses = 0;
  const response = (tenant = 'team') => {
    responses += 1;
    return health.waiter({ tenant, responseId: `response-${responses}`, limits: new OwnLimits() });
  };
  const fail = (route: ModelRoute, options: Partial<ProviderErrorOptions>, owner = response()) =>
    health
      .begin(route, owner)
      ?.failed(new ProviderError('upstream_error', 'no', { disposition: 'retry', ...options }));
  const goDown = (route: ModelRoute) => {
    for (let times = 0; times < 2; times += 1) fail(route, { fault: 'unreachable' });
  };
  const succeed = (route: ModelRoute, owner = response()) => health.begin(route, owner)?.succeeded();
  return {
    ...{ health, registry, logged, fail, goDown, response, succeed },
    pass: (ms: number) => {
      at += ms;
    },
  };
}

describe('the health of upstreams', () => {
  it('is that of a provider when it cannot be reached, and of no other', () => {
    const { health, goDown } = setUp();
    goDown(small);
    expect(health.blockOf(small)).toEqual({ because: 'open', waitMs: 1_000, downMs: 0 });
    expect(health.blockOf(large)).toEqual({ because: 'open', waitMs: 1_000, downMs: 0 });
    expect(health.blockOf(elsewhere)).toBeUndefined();
  });

  it('is that of one model when it fails', () => {
    const { health, fail, response } = setUp();
    for (const fault of ['refused', 'broken'] as const) fail(small, { fault });
    expect(health.blockOf(small, response())).toEqual({ because: 'open', waitMs: 1_000, downMs: 0 });
    expect(health.blockOf(large, response())).toBeUndefined();
    expect(health.status()[0]).toMatchObject({
      breaker: 'open',
      routes: [{ breaker: 'open' }, { breaker: 'closed' }],
    });
  });

  it('is that of one model when it is limited', () => {
    const { health, fail, response } = setUp();
    fail(small, { fault: 'limited', retryAfterMs: 3_000, upstreamStatus: 429 });
    expect(health.blockOf(small, response())).toEqual({ because: 'parked', waitMs: 3_000 });
    expect(health.blockOf(large, response())).toBeUndefined();
    expect(health.blockOf(elsewhere, response())).toBeUndefined();
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
    const { health, fail, goDown, pass, response } = setUp();
    goDown(small);
    pass(1_000);
    fail(small, {});
    expect(health.status()[0]).toMatchObject({ breaker: 'half_open' });
    health.begin(small, response())?.abandoned();
    expect(health.status()[0]).toMatchObject({ breaker: 'half_open' });
  });

  it('takes no second call while one finds out whether the upstream is back', () => {
    const { health, goDown, pass, response } = setUp();
    goDown(small);
    pass(1_000);
    health.begin(large, response());
    expect(health.blockOf(small)).toMatchObject({ because: 'open', downMs: 1_000 });
    expect(health.begin(small, response('other'))).toBeUndefined();
  });

  it('wakes whoever waits for a route as soon as the upstream is back', async () => {
    const { health, goDown, pass, response } = setUp();
    goDown(small);
    pass(1_000);
    const probe = health.begin(small, response());
    const waiting = health.pause(3_600_000, new AbortController().signal);
    probe?.answered(() => 1);
    await within(waiting);
  });

  it('is kept of a server that joins after the upstream has another name for the model of a response', () => {
    const { health, fail, response } = setUp();
    const joined = { ...a };
    const server = { name: '10.0.0.2', key: 'a 10.0.0.2' };
    const old = { provider: joined, model: 'old name', server };
    const renamed = { ...old, model: 'new name' };
    health.take({
      routes: [renamed],
      ...{ pressure: new Map(), saturation: new Map(), slotsOf: () => 32 },
    });
    expect(health.blockOf(old, response())).toBeUndefined();
    for (const fault of ['refused', 'broken'] as const) expect(fail(old, { fault })).toBe('counted');
    expect(health.blockOf(old, response())).toMatchObject({ because: 'open' });
    expect(health.blockOf(renamed, response())).toBeUndefined();
    // Operators see the models that there are.
    expect(health.status()).toMatchObject([{ server: '10.0.0.2', routes: [{ model: 'new name' }] }]);
  });

  it('is kept of a server that joins a provider that only responses under way have', () => {
    const { health, goDown, response } = setUp();
    const old = { provider: idleProvider('left'), model: 'old' };
    expect(health.mayWaitFor(old)).toBe(true);
    goDown(old);
    expect(health.blockOf(old, response())).toMatchObject({ because: 'open' });
    expect(health.status().map((each) => each.provider)).toEqual(['a', 'b']);
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

describe('a route that refused its calls with a 503 and is back', () => {
  afterEach(() => vi.useRealTimers());

  it('is left to those that wait for it at moments that are spread over a second', async () => {
    vi.useFakeTimers();
    const { health, fail, response, pass } = setUp({ random: randomFrom(1) });
    for (let calls = 0; calls < 2; calls += 1) fail(small, { fault: 'refused', upstreamStatus: 503 });
    pass(1_300);
    const probe = health.begin(small, response());
    let woken = 0;
    const waiters = 500;
    const waits = Array.from({ length: waiters }, async () => {
      const { signal } = new AbortController();
      await health.waitForTurn(response(), [small], { atMostMs: 3_600_000, signal });
      woken += 1;
    });
    probe?.answered(() => 1);
    const tenths: number[] = [];
    for (let tenth = 0; tenth < 10; tenth += 1) {
      const before = woken;
      await vi.advanceTimersByTimeAsync(100);
      tenths.push((woken - before) / waiters);
    }
    await Promise.all(waits);
    expect(Math.max(...tenths)).toBeLessThan(0.15);
    expect(Math.min(...tenths)).toBeGreaterThan(0.05);
  });

  it('is left to one whose turn has come elsewhere at once', async () => {
    vi.useFakeTimers();
    const { health, fail, response, pass } = setUp({ random: () => 1 });
    for (let calls = 0; calls < 2; calls += 1) fail(small, { fault: 'refused', upstreamStatus: 503 });
    pass(1_300);
    const probe = health.begin(small, response());
    const waiter = response();
    const { signal } = new AbortController();
    const waiting = health.waitForTurn(waiter, [small, elsewhere], { atMostMs: 3_600_000, signal });
    probe?.answered(() => 1);
    waiter.wake();
    await waiting;
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a route that limits calls', () => {
  const limited = { fault: 'limited', retryAfterMs: 10_000, upstreamStatus: 429 } as const;

  it('is parked for the tenant whose call it limited, and takes those of others as ever', () => {
    const { health, fail, response, succeed } = setUp();
    succeed(small, response('other'));
    for (let calls = 0; calls < 32; calls += 1) fail(small, limited, response('one'));
    expect(health.blockOf(small, response('one'))).toMatchObject({ because: 'parked' });
    for (let calls = 0; calls < 20; calls += 1) {
      expect(health.blockOf(small, response('other'))).toBeUndefined();
      succeed(small, response('other'));
    }
    expect(health.blockOfAll(small)).toBeUndefined();
  });

  it('is parked for everybody when calls of three tenants were limited', () => {
    const { health, fail, response } = setUp();
    for (const tenant of ['one', 'two', 'three']) fail(small, limited, response(tenant));
    expect(health.blockOf(small, response('four'))).toEqual({ because: 'parked', waitMs: 10_000 });
    expect(health.blockOfAll(small)).toEqual({ because: 'parked', waitMs: 10_000 });
  });

  it('is parked for everybody as long as three tenants are, whatever one of them has refused further', () => {
    const { health, fail, response, pass } = setUp();
    for (const tenant of ['one', 'two', 'three']) fail(small, limited, response(tenant));
    pass(10_250);
    fail(small, { ...limited, retryAfterMs: 60_000 }, response('one'));
    expect(health.blockOf(small, response('one'))).toMatchObject({ because: 'parked' });
    expect(health.blockOf(small, response('two'))?.because).not.toBe('parked');
    expect(health.blockOfAll(small)?.because).not.toBe('parked');
  });

  it('keeps nobody from looking for long because the only tenant that calls is held back', () => {
    const { health, fail, response } = setUp();
    fail(small, limited, response('one'));
    expect(health.blockOfAll(small)).toEqual({ because: 'parked', waitMs: 1_000 });
  });

  it('is not parked by a response that is limited again while others are answered, which ends that', () => {
    const { health, fail, response, succeed, pass } = setUp();
    const refused = response('one');
    expect(fail(small, limited, refused)).toBe('counted');
    pass(10_250);
    for (let answers = 0; answers < 3; answers += 1) {
      succeed(small, response('one'));
      pass(1_000);
    }
    expect(fail(small, limited, refused)).toBe('own_limit');
    expect(health.blockOf(small, response('one'))).toBeUndefined();
    expect(health.status()[0]?.routes[0]).toMatchObject({ parkedMs: 0 });
  });

  it('lets a response try more often when others are limited with it, and not for ever', () => {
    // Without a pace, so that each call is made at once.
    const { fail, response, succeed, pass } = setUp({ adaptive: false });
    const one = response();
    const limitTwo = () => {
      fail(small, limited, response());
      pass(11_000);
      for (let answers = 0; answers < 3; answers += 1) {
        succeed(small);
        pass(1_000);
      }
      return fail(small, limited, one);
    };
    const ends = Array.from({ length: 11 }, () => limitTwo());
    expect(ends).toEqual([...Array.from({ length: 10 }, () => 'counted'), 'own_limit']);
  });

  it('parks for a response as often as it likes while nobody is answered', () => {
    const { fail, response, pass } = setUp();
    const one = response();
    for (let times = 0; times < 20; times += 1) {
      expect(fail(small, limited, one)).toBe('counted');
      pass(10_250);
    }
    expect(one.limits.count).toBe(1);
  });

  it('gets its first call after a park from a response that it has not limited, if one comes', () => {
    const { health, fail, response, succeed, pass } = setUp();
    const one = response();
    fail(small, limited, one);
    pass(10_000);
    expect(health.blockOf(small, response())).toBeUndefined();
    expect(health.blockOf(small, one)).toEqual({ because: 'parked', waitMs: 250 });
    succeed(small);
    expect(health.blockOf(small, one)?.because).not.toBe('parked');
  });

  it('is called by a response that it limited when nobody else comes', () => {
    const { health, fail, response, pass } = setUp();
    const one = response();
    fail(small, limited, one);
    pass(10_250);
    expect(health.blockOf(small, one)).toBeUndefined();
  });

  it.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'takes each call of a tenant that it answers, whatever another has refused (seed %i)',
    (seed) => {
      const random = randomFrom(seed);
      const { health, fail, response, succeed, pass } = setUp();
      const old = Array.from({ length: 5 }, () => response('hostile'));
      succeed(small, response('other'));
      for (let step = 0; step < 1_000; step += 1) {
        const own = random() < 0.5 ? old[Math.floor(random() * old.length)] : undefined;
        const kind = random();
        const retryAfterMs = random() * 60_000;
        if (kind < 0.4)
          fail(small, { fault: 'limited', retryAfterMs, upstreamStatus: 429 }, own ?? response('hostile'));
        else if (kind < 0.6)
          fail(small, { fault: 'refused', upstreamStatus: 529 }, own ?? response('hostile'));
        else if (kind < 0.8) succeed(small, own ?? response('hostile'));
        else pass(random() * 9_000);
        const other = response('other');
        expect(health.blockOf(small, other)).toBeUndefined();
        if (random() < 0.5) succeed(small, other);
      }
    },
  );

  it('is called at no pace and with no limit that the refusals of one tenant have led to, but by that', () => {
    const { health, fail, response, succeed, pass } = setUp();
    succeed(small, response('other'));
    for (let round = 0; round < 10; round += 1) {
      fail(small, limited, response('one'));
      fail(small, { fault: 'refused', upstreamStatus: 529 }, response('one'));
      succeed(small, response('other'));
      pass(10_000);
    }
    health.begin(small, response('one'));
    expect(health.blockOf(small, response('one'))).toMatchObject({ because: 'busy' });
    for (let calls = 0; calls < 31; calls += 1) expect(health.begin(small, response('other'))).toBeDefined();
  });
});

describe('a route at which one tenant waits for its turn', () => {
  const limited = { fault: 'limited', retryAfterMs: 1_000 } as const;

  it('serves others while somebody calls that need not wait', () => {
    const { health, fail, response, succeed, pass } = setUp();
    fail(small, limited, response('flood'));
    pass(1_000);
    succeed(small, response('flood'));
    expect(health.blockOf(small, response('flood'))).toMatchObject({ because: 'busy' });
    expect(health.at(small).servesOthers(response('flood'))).toBe(false);
    succeed(small, response('other'));
    expect(health.at(small).servesOthers(response('flood'))).toBe(true);
    expect(health.at(small).servesOthers(response('other'))).toBe(false);
    // Nobody stands in the line of a route that is down, or that takes its calls.
    expect(health.at(elsewhere).servesOthers(response('flood'))).toBe(false);
  });

  it('has it back later, the more of its own it has sent away', () => {
    const { health, fail, goDown, response, succeed, pass } = setUp();
    fail(small, limited, response('flood'));
    pass(1_000);
    succeed(small, response('flood'));
    const away = (mostMs = 600_000) => sendAway(health, [small], response('flood'), mostMs) ?? Number.NaN;
    const first = away();
    for (let each = 0; each < 3_000; each += 1) away();
    expect(first).toBeLessThan(1_000);
    expect(away()).toBeGreaterThan(20_000);
    expect(away(7_000)).toBe(7_000);
    // Another tenant is away for as long as it has to be, and nobody for longer than until another route may be free.
    fail(small, limited, response('other'));
    expect(sendAway(health, [small], response('other'), 600_000)).toBe(1_000);
    goDown(elsewhere);
    expect(sendAway(health, [elsewhere, small], response('flood'), 600_000)).toBe(1_000);
    pass(1_000);
    succeed(elsewhere);
    expect(sendAway(health, [elsewhere, small], response('flood'), 600_000)).toBeUndefined();
  });
});

describe('a limit that latency has lowered', () => {
  it('binds the tenant whose calls were slow, and no other', () => {
    const { health, response, succeed, pass } = setUp({ latencyTolerance: 2 });
    for (let round = 0; round < 16; round += 1) {
      succeed(small, response('other'));
      const calls = Array.from({ length: 32 }, () => health.begin(small, response('one')));
      pass(round < 10 ? 50 : 2_000);
      for (const call of calls) {
        call?.answered(() => 100);
        call?.succeeded();
      }
    }
    const taken = Array.from({ length: 32 }, () => health.begin(small, response('one'))).filter(Boolean);
    expect(taken.length).toBeLessThan(32);
    expect(health.blockOf(small, response('one'))).toMatchObject({ because: 'busy' });
    for (let calls = taken.length; calls < 32; calls += 1)
      expect(health.begin(small, response('other'))).toBeDefined();
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
          { model: 'small', breaker: 'closed', parkedMs: 0, ...free },
          { model: 'large', breaker: 'closed', parkedMs: 3_000, ...free },
        ],
      },
      {
        provider: 'b',
        breaker: 'open',
        opensInMs: 1_000,
        routes: [{ model: 'small', breaker: 'closed', parkedMs: 0, ...free }],
      },
    ]);
  });

  it('stays when the models change, for a provider that is the same, and is new for another one', () => {
    const { health, fail, goDown } = setUp();
    goDown(elsewhere);
    fail(large, { fault: 'limited', retryAfterMs: 3_000 });
    const renewed = { ...elsewhere, provider: { ...elsewhere.provider } };
    const added = { ...large, model: 'added' };
    health.take({
      routes: [large, added, renewed],
      ...{ pressure: new Map(), saturation: new Map(), slotsOf: () => 32 },
    });
    expect(health.status()).toMatchObject([
      {
        provider: 'a',
        routes: [
          { model: 'large', parkedMs: 3_000 },
          { model: 'added', parkedMs: 0 },
        ],
      },
      { provider: 'b', breaker: 'closed' },
    ]);
    expect(health.blockOf(renewed)).toBeUndefined();
    // Responses under way go on with what they had.
    expect(health.blockOf(small)).toBeUndefined();
    expect(health.blockOf(elsewhere)).toMatchObject({ because: 'open' });
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
    const { health, logged, goDown, pass, response } = setUp();
    for (let times = 0; times < 5; times += 1) {
      goDown(small);
      pass(60_000);
      health.begin(small, response())?.succeeded();
    }
    expect(logged).toEqual([
      'upstream is down: it gets no calls {"provider":"a","openMs":1000,"suppressed":0}',
      'upstream is back {"provider":"a","suppressed":0}',
    ]);
  });
});
