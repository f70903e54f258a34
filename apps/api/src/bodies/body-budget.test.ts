import { describe, expect, it } from 'vitest';
import { BodyBudget } from './body-budget.ts';

const refusal = (code: string) => expect.objectContaining({ code, retryAfterMs: 1_000 });

describe('the bytes of bodies in flight', () => {
  it('are as many as the settings say at that moment', () => {
    let most = 100;
    const budget = new BodyBudget(() => most);
    most = 300;
    budget.open('a').grow(150);
    most = 100;
    expect(() => budget.open('b').grow(1)).toThrow(refusal('server_is_overloaded'));
  });

  it('are half of them for one tenant, who may try again soon', () => {
    const budget = new BodyBudget(() => 100);
    const half = budget.open('a');
    half.grow(50);
    expect(() => budget.open('a').grow(1)).toThrow(refusal('rate_limit_exceeded'));
    expect(() => half.grow(1)).toThrow(expect.objectContaining({ code: 'request_too_large' }));
    budget.open('b').grow(50);
    expect(budget.held).toBe(100);
  });

  it('are no more than there are, whoever asks', () => {
    const budget = new BodyBudget(() => 100);
    budget.open('a').grow(40);
    budget.open('b').grow(40);
    expect(() => budget.open('c').grow(21)).toThrow(refusal('server_is_overloaded'));
    budget.open('c').grow(20);
  });

  it('can grow, and are all given back, once', () => {
    const budget = new BodyBudget(() => 100);
    const reservation = budget.open('a');
    reservation.grow(10);
    reservation.grow(20);
    expect(() => reservation.grow(30)).toThrow(expect.objectContaining({ code: 'request_too_large' }));
    expect(budget.held).toBe(30);
    reservation.release();
    reservation.release();
    expect(budget.held).toBe(0);
    budget.open('a').grow(50);
  });

  it('are kept as long as somebody works with them, also behind the end of their request', () => {
    const budget = new BodyBudget(() => 100);
    const reservation = budget.open('a');
    reservation.grow(10);
    const unpin = [reservation.pin(), reservation.pin()];
    unpin[0]?.();
    unpin[0]?.();
    reservation.release();
    expect(reservation.isReleased).toBe(true);
    expect(budget.held).toBe(10);
    unpin[1]?.();
    expect(budget.held).toBe(0);
  });

  const never = new AbortController().signal;

  it('are not kept when they are taken for a request that is over', async () => {
    const budget = new BodyBudget(() => 100);
    const reservation = budget.open('a');
    reservation.release();
    reservation.grow(10);
    await reservation.growInTurn(10, never);
    expect(budget.held).toBe(0);
  });

  const settled = async (waits: readonly Promise<unknown>[]) => {
    const done = waits.map(() => false);
    waits.forEach((wait, at) => void wait.then(() => (done[at] = true)));
    await new Promise((resolve) => setImmediate(resolve));
    return done;
  };
  it('are waited for in order, by one of each tenant before a second of any', async () => {
    const budget = new BodyBudget(() => 100);
    const [a, b] = [budget.open('a'), budget.open('b')];
    a.grow(50);
    b.grow(50);
    const waiting = ['a', 'a', 'b'].map((tenant) => budget.open(tenant));
    const waits = waiting.map((each, at) => each.growInTurn(at === 0 ? 40 : 20, never));
    expect(await settled(waits)).toEqual([false, false, false]);
    b.release();
    expect(await settled(waits)).toEqual([false, false, true]);
    a.release();
    // The second would fit earlier, and does not pass the first.
    expect(await settled(waits)).toEqual([true, false, true]);
    waiting[0]?.release();
    expect(await settled(waits)).toEqual([true, true, true]);
  });

  it('are given for more than a tenant may hold when it holds nothing else', async () => {
    const budget = new BodyBudget(() => 100);
    const small = budget.open('a');
    small.grow(1);
    const large = budget.open('a');
    const waits = [large.growInTurn(1_000, never)];
    expect(await settled(waits)).toEqual([false]);
    small.release();
    expect(await settled(waits)).toEqual([true]);
    expect(budget.held).toBe(50);
    large.release();
    expect(budget.held).toBe(0);
  });

  it('keep nobody waiting behind one that has left', async () => {
    const budget = new BodyBudget(() => 100);
    budget.open('a').grow(40);
    const leaving = new AbortController();
    const left = budget.open('a').growInTurn(30, leaving.signal);
    const waits = [budget.open('a').growInTurn(10, never)];
    expect(await settled(waits)).toEqual([false]);
    leaving.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    expect(await settled(waits)).toEqual([true]);
  });
});
