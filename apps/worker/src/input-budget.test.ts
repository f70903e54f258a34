import { describe, expect, it } from 'vitest';
import { freeInputBytes, InputBudget, inputBytesOfHeap } from './input-budget.ts';

const mib = 1024 * 1024;
const wanted = (token: string, tenant: string, bytes = mib) => ({ id: token, token, tenant, bytes });

describe('the budget of inputs', () => {
  it('gives one tenant half, and the next one room of its own', () => {
    const budget = new InputBudget(8 * mib);
    const taken = Array.from({ length: 32 }, (_, at) => budget.take(wanted(`h${at}`, 'hostile')));
    expect(taken.filter(Boolean)).toHaveLength(4);
    expect(budget.take(wanted('q', 'quiet'))).toBe(true);
  });

  it('lets an input that is larger than a share go alone', () => {
    const budget = new InputBudget(8 * mib);
    expect(budget.take(wanted('h1', 'hostile', 60 * mib))).toBe(true);
    expect(budget.take(wanted('h2', 'hostile'))).toBe(false);
    expect(budget.take(wanted('q', 'quiet', 60 * mib))).toBe(true);
    expect(budget.held()).toBe(8 * mib);
  });

  it('is bounded for all tenants together', () => {
    const budget = new InputBudget(8 * mib);
    const taken = Array.from({ length: 32 }, (_, at) => budget.take(wanted(`${at}`, `tenant ${at}`)));
    expect(taken.filter(Boolean)).toHaveLength(8);
  });

  it('is a part of what the heap has to spare, and never nothing', () => {
    expect(inputBytesOfHeap(640 * mib)).toBe(40 * mib);
    expect(inputBytesOfHeap(640 * mib, 0.25)).toBe(10 * mib);
    expect(inputBytesOfHeap(0)).toBe(4 * mib);
  });

  it('never keeps a small input waiting', () => {
    const budget = new InputBudget(0);
    expect(budget.take(wanted('s', 'quiet', freeInputBytes))).toBe(true);
    expect(budget.held()).toBe(0);
  });

  it('takes room once for a claim that is repeated, and has it again when the attempt is over', () => {
    const budget = new InputBudget(2 * mib);
    expect([budget.take(wanted('h1', 'hostile')), budget.take(wanted('h1', 'hostile'))]).toEqual([
      true,
      true,
    ]);
    expect(budget.take(wanted('h2', 'hostile'))).toBe(false);
    budget.giveBack('h1');
    budget.giveBack('h1');
    expect(budget.take(wanted('h2', 'hostile'))).toBe(true);
  });

  it('keeps room for what waits in front, from other tenants and from its own', () => {
    const budget = new InputBudget(8 * mib);
    for (const token of ['a', 'b', 'c']) budget.take(wanted(token, `of ${token}`, 2 * mib));
    const large = wanted('l', 'large', 4 * mib);
    const waiting = [large, wanted('q', 'quiet')];
    const take = (token: string, tenant: string) => budget.take(wanted(token, tenant), waiting);
    expect([budget.take(large, waiting), take('q', 'quiet'), take('m', 'large')]).toEqual([
      false,
      false,
      false,
    ]);
    budget.giveBack('a');
    expect([take('q', 'quiet'), take('m', 'large')]).toEqual([false, false]);
    expect(budget.take(large, waiting)).toBe(true);
  });

  it('keeps no more than the share of a tenant, which waits for its own', () => {
    const budget = new InputBudget(8 * mib);
    for (const token of ['a', 'b', 'c', 'd']) budget.take(wanted(token, 'large'));
    const waiting = [wanted('l', 'large', 4 * mib)];
    const taken = ['1', '2', '3', '4', '5'].map((token) => budget.take(wanted(token, 'quiet'), waiting));
    expect(taken).toEqual([true, true, true, true, false]);
  });
});
