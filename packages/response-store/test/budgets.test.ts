import { cancelled, completed, nothingProduced, type ResponseEnd } from '@sluice/contract';
import { usageOf } from '@sluice/testing';
import type { GivenLimits } from '@sluice/contract/tenant-limits';
import { describe, expect, it } from 'vitest';
import { partOfLimits } from '../src/cells/parts-of-limits.ts';
import { type AcceptResult, type OutboxEntry, OutboxReader } from '../src/index.ts';
import { type AcceptedOptions, storeForEachTest } from './store-under-test.ts';

const store = storeForEachTest();

/** 2 units of the currency for a million tokens of input, 0.5 from a cache, 2.5 into one, and 8 for a million of output. */
const price = '2000 500 2500 8000';
const day = 86_400_000;

async function ask(input: number, output: number, options: AcceptedOptions): Promise<AcceptResult> {
  const tokens = { input, output, mostInput: undefined };
  const { result } = await store.accepting({ streams: false, tokens, ...options });
  return result;
}

async function accepted(input: number, output: number, options: AcceptedOptions): Promise<string> {
  return store.accepted({ streams: false, tokens: { input, output, mostInput: undefined }, ...options });
}

async function end(id: string, how: ResponseEnd): Promise<void> {
  await store.take(id, 'a');
  expect((await store.write(id, 'a', 3, [], how, { outbox: { most: 100, ends: 'all' } })).kind).toBe('ok');
}

/** What the outbox tells that it has not told here. */
async function entries(): Promise<OutboxEntry[]> {
  const reader = new OutboxReader({
    redis: store.server.client,
    keys: store.keys,
    reader: 'usage',
    readers: ['usage'],
    process: 'p',
    leaseMs: 1_000,
    count: 100,
  });
  const all: OutboxEntry[] = [];
  let next: readonly OutboxEntry[] = [];
  do {
    const taken = await reader.take(next.map(({ id }) => id));
    next = taken?.entries ?? [];
    all.push(...next);
  } while (next.length > 0);
  return all;
}

async function use(limits: GivenLimits) {
  const [found] = await store.caller.tenantUse([{ name: 'team-a', limits }]);
  const { tokens_in_day, tokens_in_month, spend_in_day, spend_in_month } = found ?? {};
  return { tokens_in_day, tokens_in_month, spend_in_day, spend_in_month };
}

describe('a budget of tokens', () => {
  const limits = { tokensPerDay: 1_000, tokensPerMonth: 5_000 };

  it('is reserved by the accept, settled by the end, and refuses what may take more than is left', async () => {
    const id = await accepted(100, 500, { limits });
    expect(await use(limits)).toMatchObject({ tokens_in_day: 600, tokens_in_month: 600, spend_in_day: null });
    const refused = await ask(100, 301, { limits });
    expect(refused).toMatchObject({
      kind: 'over_budget',
      spent: { name: 'tokensPerDay', isOfKey: false, limit: 1_000, left: 400 },
    });
    expect((await ask(100, 300, { limits })).kind).toBe('accepted');
    await end(id, completed({ output: [], usage: usageOf(100, 50) }, 1));
    expect(await use(limits)).toMatchObject({ tokens_in_day: 550, tokens_in_month: 550 });
  });

  it('gets all of it back of a response that never ran, and keeps what nobody has counted', async () => {
    const waiting = await accepted(100, 300, { limits });
    await store.caller.endIfQueued(waiting, cancelled(nothingProduced));
    expect(await use(limits)).toMatchObject({ tokens_in_day: 0 });
    await end(await accepted(100, 300, { limits }), completed(nothingProduced, 1));
    expect(await use(limits)).toMatchObject({ tokens_in_day: 400 });
  });

  it('is exact over many accepts at once', async () => {
    const results = await Promise.all(Array.from({ length: 60 }, () => ask(10, 30, { limits })));
    expect(results.filter(({ kind }) => kind === 'accepted')).toHaveLength(25);
    expect(await use(limits)).toMatchObject({ tokens_in_day: 1_000 });
  });

  it('begins anew with the day and the month, and what was reserved before goes back to where it came from', async () => {
    const { client } = store.server;
    const key = store.keys.budget('tenant', 'team-a');
    const before = await accepted(0, 900, { limits });
    expect((await ask(0, 200, { limits })).kind).toBe('over_budget');
    // The day before, of the same month.
    await client.hset(key, { day: Math.floor(Date.now() / day) - 1 });
    expect(await use(limits)).toMatchObject({ tokens_in_day: 0, tokens_in_month: 900 });
    expect((await ask(0, 200, { limits })).kind).toBe('accepted');
    expect(await use(limits)).toMatchObject({ tokens_in_day: 200, tokens_in_month: 1_100 });
    const facts = String(await store.field(before, 'reserved')).split(' ');
    await store.change(before, { reserved: [Number(facts[0]) - 1, ...facts.slice(1)].join(' ') });
    await end(before, completed({ output: [], usage: usageOf(0, 100) }, 1));
    expect(await use(limits)).toMatchObject({ tokens_in_day: 200, tokens_in_month: 300 });
    // The month before.
    await client.hset(key, { day: 1, month: 1 });
    expect((await ask(0, 7, { limits })).kind).toBe('accepted');
    expect(await use(limits)).toMatchObject({ tokens_in_day: 7, tokens_in_month: 7 });
  });

  it('does not begin anew for a clock that was set back', async () => {
    const { client } = store.server;
    const ahead = Math.floor(Date.now() / day) + 400;
    await accepted(0, 900, { limits });
    await client.hset(store.keys.budget('tenant', 'team-a'), { day: ahead });
    expect((await ask(0, 200, { limits })).kind).toBe('over_budget');
  });

  it('expires when nobody has asked for longer than a month', async () => {
    await accepted(0, 1, { limits });
    const left = await store.server.client.pttl(store.keys.budget('tenant', 'team-a'));
    expect(left).toBeGreaterThan(31 * day);
  });
});

describe('the month of a day', () => {
  it.each(['1999-12-31', '2000-02-29', '2000-03-01', '2024-02-29', '2026-01-01', '2026-12-31', '2100-03-01'])(
    'is that of the calendar: %s',
    async (date) => {
      const at = new Date(`${date}T12:00:00Z`);
      const key = store.keys.budget('tenant', 'team-a');
      // No clock goes back, so the hash may say which day it is.
      await store.server.client.hset(key, { day: at.getTime() / day + 20_000 * 2, month: 0 });
      await accepted(0, 1, { limits: { tokensPerMonth: 10 } });
      const moved = new Date(Math.floor(at.getTime() / day + 40_000) * day);
      expect(await store.server.client.hget(key, 'month')).toBe(
        String(moved.getUTCFullYear() * 12 + moved.getUTCMonth()),
      );
    },
  );
});

describe('a budget of money', () => {
  const limits = { spendPerDay: 0.01 };

  it('counts tokens by the price of their kind', async () => {
    // 1,000 of input and 500 of output: 0.002 and 0.004.
    const id = await accepted(1_000, 500, { limits, price });
    expect(await use(limits)).toMatchObject({ spend_in_day: 0.006 });
    expect(await ask(1_000, 300, { limits, price })).toMatchObject({
      kind: 'over_budget',
      spent: { name: 'spendPerDay', limit: 0.01, left: 0.004 },
    });
    // 300 at 2, 600 at 0.5, 100 at 2.5 and 250 at 8 for a million.
    const taken = usageOf(1_000, 250, { cached: 600, cacheWrite: 100 });
    await end(id, completed({ output: [], usage: taken }, 1));
    expect(await use(limits)).toMatchObject({ spend_in_day: 0.00315 });
    const ends = await entries();
    expect(ends.map(({ fact }) => fact?.spend)).toEqual([3_150_000]);
  });

  it('has all of it left where models have no price', async () => {
    await accepted(1_000_000, 500, { limits });
    expect(await use(limits)).toMatchObject({ spend_in_day: 0 });
  });
});

describe('a warning', () => {
  const outbox = { most: 100, ends: 'background' as const };
  const key = '0123456789abcdef';
  const limits = { tokensPerDay: 1_000, key: { spendPerMonth: 0.01 } };
  const warnings = async () => (await entries()).flatMap(({ happening }) => happening ?? []);

  it('is told once when four fifths of a budget are reserved or taken, and again of another limit', async () => {
    const by = store.process('teller', undefined, outbox);
    await accepted(0, 799, { limits, key, price: '0 0 0 1000', by });
    expect(await warnings()).toEqual([]);
    await accepted(0, 1, { limits, key, price: '0 0 0 1000', by });
    await accepted(0, 1, { limits, key, price: '0 0 0 1000', by });
    const ofDay = {
      type: 'budget.warning',
      tenant: 'team-a',
      data: { id: 'tokens_per_day', api_key_id: null, limit: 1_000, used: 800 },
    };
    const first = await warnings();
    expect(first).toMatchObject([ofDay]);
    await accepted(0, 100, { limits, key, price: '0 0 0 80000', by });
    const ofKey = { data: { id: 'spend_per_month', api_key_id: key, limit: 0.01, used: 0.008801 } };
    expect(await ask(0, 100, { limits, key, price: '0 0 0 80000', by })).toMatchObject({
      kind: 'over_budget',
    });
    await accepted(0, 1, { limits: { tokensPerDay: 1_100 }, by });
    const later = await warnings();
    expect(later).toMatchObject([ofKey, { data: { limit: 1_100, used: 902 } }]);
    expect(new Set([...first, ...later].map(({ id }) => id)).size).toBe(3);
  });

  it('of a limit that is divided among cells says the whole of it, and is the same in each', async () => {
    const by = store.process('teller', undefined, outbox);
    const service = { queued: 100, queuedBytes: 1_000_000 };
    const whole = { tokensPerDay: 1_001, key: { spendPerMonth: 0.01 }, service };
    const partIn = (at: number) => partOfLimits(whole, whole, { at, of: 2 });
    const refused = await ask(0, 502, { limits: partIn(0), key, by });
    expect(refused).toMatchObject({ spent: { limit: 1_001, left: 501, isDivided: true } });
    await accepted(0, 450, { limits: partIn(0), key, price: '0 0 0 10000', by });
    // By another cell, which counts for itself.
    await store.server.client.del(store.keys.budget('tenant', 'team-a'), store.keys.budget('key', key));
    await accepted(0, 450, { limits: partIn(1), key, price: '0 0 0 10000', by });
    const told = await warnings();
    const ofDay = { id: 'tokens_per_day', limit: 1_001 };
    const ofMonth = { id: 'spend_per_month', limit: 0.01, used: 0.009 };
    expect(told.map(({ data }) => data)).toMatchObject([
      { ...ofDay, used: 899 },
      ofMonth,
      { ...ofDay, used: 901 },
      ofMonth,
    ]);
    expect(new Set(told.map(({ id }) => id)).size).toBe(2);
  });

  it('is written nowhere where nobody reads it', async () => {
    await accepted(0, 900, { limits });
    expect(await store.server.client.exists(store.keys.outbox)).toBe(0);
  });
});

describe('the budget of a key', () => {
  it('holds beside that of its tenant, for this key alone', async () => {
    const limits = { tokensPerDay: 100, key: { tokensPerMonth: 50 } };
    const [one, other] = ['0123456789abcdef', 'fedcba9876543210'];
    await accepted(0, 40, { limits, key: one });
    expect(await ask(0, 40, { limits, key: one })).toMatchObject({
      kind: 'over_budget',
      spent: { name: 'tokensPerMonth', isOfKey: true, limit: 50, left: 10 },
    });
    const id = await accepted(0, 40, { limits, key: other });
    expect(await ask(0, 40, { limits: { tokensPerDay: 100 } })).toMatchObject({
      kind: 'over_budget',
      spent: { name: 'tokensPerDay', isOfKey: false, left: 20 },
    });
    await end(id, completed({ output: [], usage: usageOf(0, 5) }, 1));
    expect(await ask(0, 45, { limits, key: other })).toMatchObject({ kind: 'accepted' });
  });
});
