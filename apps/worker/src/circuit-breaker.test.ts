import { describe, expect, it } from 'vitest';
import {
  type BreakerCall,
  type BreakerSettings,
  type BreakerState,
  CircuitBreaker,
} from './circuit-breaker.ts';

const settings: BreakerSettings = {
  consecutiveFailures: 3,
  failurePercent: 50,
  minimumCalls: 10,
  windowMs: 10_000,
  openMs: 1_000,
  longestOpenMs: 5_000,
};

function aBreaker(overrides: Partial<BreakerSettings> = {}, random = () => 0) {
  let at = 50_000;
  const changes: [BreakerState, number][] = [];
  const breaker = new CircuitBreaker({
    settings: { ...settings, ...overrides },
    now: () => at,
    random,
    onChange: (state, openMs) => changes.push([state, openMs]),
  });
  const begin = (): BreakerCall => {
    const call = breaker.begin();
    if (!call) throw new Error('the breaker let nothing through');
    return call;
  };
  const each = (outcomes: string) => {
    for (const outcome of outcomes) {
      if (outcome === 'x') begin().failed();
      else begin().succeeded();
    }
  };
  const pass = (ms: number) => {
    at += ms;
  };
  return { breaker, changes, begin, each, pass };
}

/** A breaker that has just opened for the first time. */
function anOpenBreaker(overrides: Partial<BreakerSettings> = {}, random = () => 0) {
  const opened = aBreaker(overrides, random);
  opened.each('xxx');
  return opened;
}

describe('a closed breaker', () => {
  it.each([
    ['', 'closed'],
    ['xx', 'closed'],
    ['xxx', 'open'],
    ['xx.xx.xx', 'closed'],
    ['xx.xx.xxx', 'open'],
    // Half of the calls, but not enough of them, and then enough.
    ['x.x.x.x.', 'closed'],
    ['x.x.x.x.x', 'closed'],
    ['x.x.x.x..x', 'open'],
    // Less than half.
    ['x..x..x..x..x', 'closed'],
  ])('after the calls %j is %s', (outcomes, state) => {
    const { breaker, each } = aBreaker();
    each(outcomes);
    expect(breaker.state).toBe(state);
  });

  it('forgets calls that have left its window', () => {
    const { breaker, each, pass } = aBreaker();
    each('x.x.x.x.');
    pass(11_000);
    each('..x');
    expect(breaker.state).toBe('closed');
  });

  it('remembers calls within its window, across its buckets', () => {
    const { breaker, each, pass } = aBreaker();
    for (let pair = 0; pair < 4; pair += 1) {
      each('x.');
      pass(1_000);
    }
    each('.x');
    expect(breaker.state).toBe('open');
  });

  it('counts a call once, whatever is said of it', () => {
    const { breaker, begin } = aBreaker();
    const call = begin();
    for (let times = 0; times < 5; times += 1) call.failed();
    expect(breaker.state).toBe('closed');
  });

  it('does not count what says nothing of the upstream', () => {
    const { breaker, begin, each } = aBreaker();
    each('xx');
    for (let times = 0; times < 20; times += 1) begin().abandoned();
    expect(breaker.state).toBe('closed');
    each('x');
    expect(breaker.state).toBe('open');
  });

  it('counts a failure after the first piece of an answer', () => {
    const { breaker, begin } = aBreaker();
    for (let times = 0; times < 3; times += 1) {
      const call = begin();
      call.answered();
      call.failed();
    }
    expect(breaker.state).toBe('open');
  });
});

describe('an open breaker', () => {
  it('lets nothing through until its time is over', () => {
    const { breaker, pass } = anOpenBreaker();
    expect(breaker.begin()).toBeUndefined();
    expect(breaker.opensInMs).toBe(1_000);
    pass(999);
    expect(breaker.begin()).toBeUndefined();
    pass(1);
    expect(breaker.state).toBe('half_open');
    expect(breaker.admits).toBe(true);
  });

  it('is open a random while longer, never shorter', () => {
    expect(anOpenBreaker({}, () => 1).breaker.opensInMs).toBe(1_200);
    expect(anOpenBreaker({}, () => 0).breaker.opensInMs).toBe(1_000);
  });

  it('does not count calls that began before it opened', () => {
    const { breaker, changes, begin, each } = aBreaker();
    const slow = begin();
    each('xxx');
    slow.failed();
    expect(breaker.opensInMs).toBe(1_000);
    expect(changes).toEqual([['open', 1_000]]);
  });

  it('is not closed by a call that began before it opened', () => {
    const { breaker, begin, each } = aBreaker();
    const slow = begin();
    each('xxx');
    slow.answered();
    slow.succeeded();
    expect(breaker.state).toBe('open');
  });
});

describe('a half-open breaker', () => {
  it('lets exactly one call through, until that has taken long', () => {
    const { breaker, pass } = anOpenBreaker();
    pass(1_000);
    const calls = Array.from({ length: 50 }, () => breaker.begin());
    expect(calls.filter((call) => call !== undefined)).toHaveLength(1);
    pass(4_999);
    expect(breaker.begin()).toBeUndefined();
    pass(1);
    breaker.begin();
    expect(breaker.begin()).toBeUndefined();
    calls[0]?.answered();
    expect(breaker.state).toBe('closed');
  });

  it('closes as soon as the probe is answered', () => {
    const { breaker, changes, begin, pass } = anOpenBreaker();
    pass(1_000);
    begin().answered();
    expect(breaker.state).toBe('closed');
    expect(changes).toEqual([
      ['open', 1_000],
      ['half_open', 0],
      ['closed', 0],
    ]);
  });

  it('counts a probe that breaks after its answer began as a failure of the closed breaker', () => {
    const { breaker, begin, each, pass } = anOpenBreaker();
    pass(1_000);
    const probe = begin();
    probe.answered();
    each('xx');
    probe.failed();
    expect(breaker.state).toBe('open');
  });

  it('closes when the probe succeeds, and forgets what was before', () => {
    const { breaker, begin, each, pass } = anOpenBreaker();
    pass(1_000);
    begin().succeeded();
    each('xx');
    expect(breaker.state).toBe('closed');
  });

  it('opens again when the probe fails, for longer each time, up to a bound', () => {
    const { breaker, begin, pass } = anOpenBreaker();
    const openMs = [1, 2, 3, 4, 5].map(() => {
      pass(breaker.opensInMs);
      begin().failed();
      return breaker.opensInMs;
    });
    expect(openMs).toEqual([2_000, 4_000, 5_000, 5_000, 5_000]);
  });

  it('says how long the upstream has been down, whatever the probes found', () => {
    const { breaker, begin, pass } = anOpenBreaker();
    pass(1_000);
    expect(breaker.downMs).toBe(1_000);
    begin().failed();
    pass(2_000);
    expect(breaker.downMs).toBe(3_000);
    begin().answered();
    expect(breaker.downMs).toBe(0);
  });

  it('does not count time in which a probe was due and nobody made one', () => {
    const { breaker, begin, pass } = anOpenBreaker();
    pass(60_000);
    expect(breaker.downMs).toBe(1_000);
    const probe = begin();
    pass(500);
    expect(breaker.downMs).toBe(1_500);
    probe.failed();
    pass(2_000);
    expect(breaker.downMs).toBe(3_500);
  });

  it('lets the next call probe when the probe was cancelled', () => {
    const { breaker, begin, pass } = anOpenBreaker();
    pass(1_000);
    begin().abandoned();
    expect(breaker.state).toBe('half_open');
    begin().failed();
    expect(breaker.opensInMs).toBe(2_000);
  });

  it('goes on growing its time when it opens soon after it closed, and starts over later', () => {
    const { breaker, begin, each, pass } = anOpenBreaker();
    pass(1_000);
    begin().succeeded();
    each('xxx');
    expect(breaker.opensInMs).toBe(2_000);
    pass(2_000);
    begin().succeeded();
    pass(10_000);
    each('xxx');
    expect(breaker.opensInMs).toBe(1_000);
  });
});
