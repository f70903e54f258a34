import { describe, expect, it } from 'vitest';
import { type CallCounts, ServerLoads } from './server-loads.ts';

const [one, other] = [
  { name: 's1', key: 'up s1' },
  { name: 's2', key: 'up s2' },
];

function setUp(others: () => Promise<CallCounts>) {
  const told: [string, number][][] = [];
  const errors: unknown[] = [];
  const loads = new ServerLoads({
    share: (own) => {
      told.push([...own]);
      return others();
    },
    onError: (error) => errors.push(error),
  });
  return { loads, told, errors };
}

describe('the calls under way at servers', () => {
  it('are those of this process at once, and those of others as they were told', async () => {
    const { loads, told } = setUp(() => Promise.resolve(new Map([['up s1', 3]])));
    loads.isNeeded = true;
    const end = loads.begin(one);
    expect(loads.of(one)).toBe(1);
    await loads.tell();
    expect(told).toEqual([[['up s1', 1]]]);
    expect([loads.of(one), loads.of(other)]).toEqual([4, 0]);
    end();
    end();
    expect(loads.of(one)).toBe(3);
    await loads.tell();
    expect(told[1]).toEqual([]);
  });

  it('are told to nobody while no provider has several servers', async () => {
    const { loads, told } = setUp(() => Promise.resolve(new Map()));
    await loads.tell();
    expect(told).toEqual([]);
    // One that has several no longer may still have calls under way.
    const end = loads.begin(one);
    await loads.tell();
    end();
    await loads.tell();
    expect(told).toEqual([[['up s1', 1]]]);
  });

  it('stay as they were told last while the store is silent', async () => {
    let isSilent = false;
    const { loads, errors } = setUp(() =>
      isSilent
        ? Promise.reject(new Error('Connection is closed.'))
        : Promise.resolve(new Map([['up s2', 2]])),
    );
    loads.isNeeded = true;
    await loads.tell();
    isSilent = true;
    await loads.tell();
    expect(errors).toHaveLength(1);
    expect(loads.of(other)).toBe(2);
  });
});
