import { describe, expect, it } from 'vitest';
import { LimitedTenants } from './limited-tenants.ts';

function setUp() {
  let at = 0;
  const tenants = new LimitedTenants({ now: () => at });
  return {
    tenants,
    call: (...names: string[]) => names.forEach((name) => tenants.called(name)),
    refuse: (...names: string[]) => names.forEach((name) => tenants.refused(name)),
    pass: (ms: number) => {
      at += ms;
    },
  };
}

describe('the tenants that obey refusals', () => {
  it('are those whose own calls were refused, for a while', () => {
    const { tenants, call, refuse, pass } = setUp();
    call('one', 'other');
    refuse('one');
    expect([tenants.includes('one'), tenants.includes('other'), tenants.includes(undefined)]).toEqual([
      true,
      false,
      false,
    ]);
    pass(60_001);
    call('one', 'other');
    expect(tenants.includes('one')).toBe(false);
  });

  it('are all when those of three were refused', () => {
    const { tenants, refuse, pass } = setUp();
    refuse('one', 'two', 'three');
    expect(tenants.includes('stranger')).toBe(true);
    expect(tenants.includes(undefined)).toBe(true);
    pass(60_001);
    expect(tenants.includes('stranger')).toBe(false);
  });

  it('are one for as long as it alone calls', () => {
    const { tenants, call, refuse, pass } = setUp();
    refuse('one');
    pass(600_000);
    call('one');
    expect(tenants.includes('one')).toBe(true);
    call('other');
    expect(tenants.includes('one')).toBe(false);
  });

  it('have a spokesman while nobody calls that does not obey', () => {
    const { tenants, call, refuse } = setUp();
    call('one');
    expect(tenants.spokesman).toBeUndefined();
    refuse('one');
    expect(tenants.spokesman).toBe('one');
    call('other');
    expect(tenants.spokesman).toBeUndefined();
  });

  it('are remembered of the latest tenants alone', () => {
    const { tenants, call, refuse } = setUp();
    refuse('one');
    for (let other = 0; other < 256; other += 1) call(`other-${other}`);
    expect(tenants.includes('one')).toBe(false);
  });
});
