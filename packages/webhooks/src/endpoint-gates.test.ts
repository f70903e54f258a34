import { costAgainstParsing } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { EndpointGates } from './endpoint-gates.ts';

let at: number;

/** Gates whose clock the test has, and whose pauses are as long as they are on average. */
function theGates(): EndpointGates {
  at = 0;
  return new EndpointGates({ now: () => at, random: () => 0.5 });
}

const callOf = (tenant: string, delivery: number | string) => ({
  tenant,
  endpointId: `we_${tenant}`,
  deliveryId: `${tenant}-${delivery}`,
});

/** Takes all calls that the endpoint of a tenant may have. */
function fill(gates: EndpointGates, tenant: string): void {
  for (const name of 'abcd') expect(gates.enter(callOf(tenant, name))).toHaveProperty('leave');
}

function waits(gates: EndpointGates, tenant: string, delivery: number): number {
  const gate = gates.enter(callOf(tenant, delivery));
  if (!('afterMs' in gate)) throw new Error('It may go.');
  return gate.afterMs;
}

/** The longest pause of so many deliveries of a tenant whose calls are all taken. */
function longestWait(gates: EndpointGates, tenant: string, deliveries: number): number {
  let longest = 0;
  for (let each = 0; each < deliveries; each += 1) longest = Math.max(longest, waits(gates, tenant, each));
  return longest;
}

describe('deliveries that may not go', () => {
  it('come back after half a second while they are few', () => {
    const gates = theGates();
    fill(gates, 'a');
    expect(longestWait(gates, 'a', 100)).toBe(500);
  });

  it('come back two hundred a second, however many they are', () => {
    const gates = theGates();
    fill(gates, 'a');
    longestWait(gates, 'a', 100_000);
    expect(waits(gates, 'a', 1)).toBe(99_999 * 5);
  });

  it('of a tenant that has few come back soon beside those of one that has many', () => {
    const gates = theGates();
    for (const tenant of ['a', 'b']) fill(gates, tenant);
    longestWait(gates, 'a', 100_000);
    expect(longestWait(gates, 'b', 11)).toBe(500);
    expect(longestWait(gates, 'b', 201)).toBe(200 * 2 * 5);
  });

  it('of a tenant that has many wait for no more than there are beside many tenants that have few', () => {
    const gates = theGates();
    fill(gates, 'a');
    longestWait(gates, 'a', 10_000);
    for (let each = 0; each < 50; each += 1) {
      fill(gates, `b${each}`);
      gates.enter(callOf(`b${each}`, `b${each}`));
    }
    expect(waits(gates, 'a', 1)).toBe((9_999 + 50) * 5);
  });

  it('are forgotten when they have come back elsewhere', () => {
    const gates = theGates();
    for (const tenant of ['a', 'b']) fill(gates, tenant);
    longestWait(gates, 'a', 1_000);
    longestWait(gates, 'b', 1_000);
    at += 1_000_000;
    expect(waits(gates, 'a', 1)).toBe(500);
    expect(longestWait(gates, 'a', 201)).toBe(200 * 5);
  });

  it('cost no more each where they are many', () => {
    const deliveries = Array.from({ length: 10_000 }, (_, each) => callOf('a', each));
    const prepare = () => {
      const gates = theGates();
      fill(gates, 'a');
      return () => {
        for (const delivery of deliveries) gates.enter(delivery);
      };
    };
    const mostCost = 20; // hundreds where each looks at all others
    expect(costAgainstParsing(deliveries, prepare)).toBeLessThan(mostCost);
  });
});
