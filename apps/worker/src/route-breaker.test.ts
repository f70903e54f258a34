import { randomFrom } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import type { BreakerCall, BreakerSettings, BreakerState } from './circuit-breaker.ts';
import { RouteBreaker } from './route-breaker.ts';

const settings: BreakerSettings = {
  consecutiveFailures: 5,
  failurePercent: 50,
  minimumCalls: 20,
  windowMs: 30_000,
  openMs: 1_000,
  longestOpenMs: 30_000,
};

function aBreaker(overrides: Partial<BreakerSettings> = {}) {
  let at = 50_000;
  let responses = 0;
  const changes: BreakerState[] = [];
  const breaker = new RouteBreaker({
    settings: { ...settings, ...overrides },
    now: () => at,
    random: () => 0,
    onChange: (state) => changes.push(state),
  });
  const begin = (tenant: string, responseId = `response-${(responses += 1)}`) =>
    breaker.begin({ tenant, responseId });
  const fail = (tenant: string, count = 1) => {
    for (let call = 0; call < count; call += 1) begin(tenant)?.failed();
  };
  const pass = (ms: number) => {
    at += ms;
  };
  return { breaker, changes, begin, fail, pass, answer: (tenant: string) => begin(tenant)?.succeeded() };
}

describe('the breaker of a route', () => {
  it('opens when all that call it fail, and closes with the first answer', () => {
    const { breaker, fail, answer, pass } = aBreaker();
    fail('one', 4);
    expect(breaker.state).toBe('closed');
    fail('one');
    expect(breaker.state).toBe('open');
    expect(breaker.blockOf('one')).toEqual({ waitMs: 1_000 });
    pass(1_000);
    answer('one');
    expect(breaker.state).toBe('closed');
    expect(breaker.blockOf('one')).toBeUndefined();
  });

  it('counts a response once, however often it was tried', () => {
    const { breaker, begin } = aBreaker();
    for (let attempt = 0; attempt < 20; attempt += 1) begin('one', 'the same')?.failed();
    expect(breaker.state).toBe('closed');
  });

  it('stays closed while another tenant is answered, however often one fails', () => {
    const { breaker, fail, answer, pass } = aBreaker();
    for (let round = 0; round < 50; round += 1) {
      answer('other');
      pass(1_000);
      fail('one', 40);
      expect(breaker.state).toBe('closed');
    }
  });

  it('opens for both when neither of two is answered', () => {
    const { breaker, fail, answer } = aBreaker();
    answer('one');
    answer('other');
    fail('one', 4);
    fail('other');
    expect(breaker.blockOf('one')).toBeDefined();
    expect(breaker.blockOf('other')).toBeDefined();
  });

  it('lets the first call of another tenant through while it is open for one, and one at a time', () => {
    const { breaker, fail, begin } = aBreaker();
    fail('one', 5);
    const first = begin('other');
    expect(first).toBeDefined();
    expect(begin('other')).toBeUndefined();
    expect(begin('third')).toBeUndefined();
    first?.answered();
    for (const tenant of ['one', 'other', 'third']) expect(breaker.blockOf(tenant)).toBeUndefined();
  });

  it('opens for everybody when three tenants have failed', () => {
    const { breaker, fail, pass, begin } = aBreaker();
    fail('one', 5);
    fail('two');
    expect(breaker.blockOf('stranger')).toBeUndefined();
    fail('three');
    expect(breaker.blockOf('stranger')).toEqual({ waitMs: 1_000 });
    pass(1_000);
    begin('stranger')?.failed();
    expect(breaker.blockOf('another')).toEqual({ waitMs: 2_000 });
  });

  it('opens at a share of failures that is that of every tenant, and not of one', () => {
    const { breaker, fail, answer } = aBreaker();
    for (let round = 0; round < 20; round += 1) {
      fail('one');
      answer('one');
      answer('other');
    }
    expect(breaker.state).toBe('closed');
    for (let round = 0; round < 25; round += 1) {
      fail('other');
      fail('other');
      answer('one');
      fail('one');
      fail('one');
    }
    expect(breaker.state).not.toBe('closed');
  });

  it('waits for the probe of nobody for long', () => {
    const { breaker, fail, begin, pass } = aBreaker();
    fail('one', 5);
    begin('two');
    expect(breaker.blockOf('three')).toBeDefined();
    pass(5_000);
    expect(breaker.blockOf('three')).toBeUndefined();
  });

  it('does not count calls that began before it opened', () => {
    const { breaker, begin, fail, changes } = aBreaker();
    const slow = begin('one');
    fail('one', 5);
    slow?.failed();
    expect(breaker.opensInMs).toBe(1_000);
    expect(changes).toEqual(['open']);
  });

  it('says for how long it is down, without the time in which nobody tried', () => {
    const { breaker, fail, begin, pass } = aBreaker();
    fail('one', 5);
    pass(60_000);
    expect(breaker.downMs).toBe(1_000);
    begin('one')?.failed();
    pass(500);
    expect(breaker.downMs).toBe(1_500);
  });

  it('gets few calls when the upstream is down, however many tenants and calls there are', () => {
    const { begin, pass } = aBreaker();
    let calls = 0;
    for (let ms = 0; ms < 600_000; ms += 100) {
      for (let tenant = 0; tenant < 200; tenant += 1) {
        const call = begin(`tenant-${tenant}`);
        if (!call) continue;
        calls += 1;
        call.failed();
      }
      pass(100);
    }
    // The first ones, and four probes in each of the times that it stays open.
    expect(calls).toBeLessThanOrEqual(5 + 4 * (6 + 20));
  });
});

describe('a tenant that sends what fails', () => {
  it.each(Array.from({ length: 40 }, (_, seed) => seed))(
    'makes another one wait for no call but its own first (seed %i)',
    (seed) => {
      const random = randomFrom(seed);
      const { begin, pass } = aBreaker({ consecutiveFailures: 1 + Math.floor(random() * 8) });
      const ofHostile: BreakerCall[] = [];
      const ofOther: BreakerCall[] = [];
      for (let step = 0; step < 3_000; step += 1) {
        const choice = random();
        if (choice < 0.5) {
          // Whatever it likes: calls that fail at once or later, are answered, cancelled, or never end.
          const call = begin('hostile', random() < 0.5 ? 'again' : undefined);
          if (call) ofHostile.push(call);
          const old = ofHostile[Math.floor(random() * ofHostile.length)];
          const end = random();
          if (end < 0.6) old?.failed();
          else if (end < 0.7) old?.abandoned();
          else if (end < 0.75) old?.answered();
          else if (end < 0.8) old?.succeeded();
        } else if (choice < 0.8) {
          const call = begin('other');
          // Only a call of its own that is not answered yet may stand in its way.
          if (!call) expect(ofOther.length).toBeGreaterThan(0);
          if (call) ofOther.push(call);
        } else if (choice < 0.95) {
          const call = ofOther.shift();
          call?.answered();
          if (random() < 0.8) call?.succeeded();
        } else {
          pass(random() * 20_000);
        }
      }
    },
  );
});
