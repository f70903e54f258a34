import { completed, nothingProduced } from '@sluice/contract';
import { usageOf } from '@sluice/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { type AcceptedOptions, servers, stopCluster, storeForEachTest } from './store-under-test.ts';

afterAll(stopCluster);

const withoutBudgets = {
  tokens_in_day: null,
  tokens_in_month: null,
  spend_in_day: null,
  spend_in_month: null,
};

describe.each(servers)('the use of a tenant on %s', (_name, connect) => {
  const store = storeForEachTest(connect);

  const limits = { requestsPerMinute: 60, tokensPerMinute: 10_000, concurrent: 2 };
  const tokens = { input: 10, output: 90, mostInput: undefined };
  const usage = usageOf(10, 5);

  /** Accepts responses and does what an api does next. */
  async function arrive(count: number, options: AcceptedOptions = {}): Promise<string[]> {
    const ids: string[] = [];
    for (let at = 0; at < count; at += 1) {
      const { responseId, result } = await store.accepting({ streams: false, limits, tokens, ...options });
      if (result.kind !== 'accepted') throw new Error(`not accepted: ${result.kind}`);
      if (result.priority === undefined) await store.caller.standInLine(responseId);
      ids.push(responseId);
    }
    return ids;
  }

  async function use(name = 'team-a', of: Partial<typeof limits> = limits) {
    const [found] = await store.caller.tenantUse([{ name, limits: of }]);
    return found;
  }

  it('is what was accepted in the minute, what waits and in which way, and what runs', async () => {
    expect(await use()).toEqual({
      ...withoutBudgets,
      requests_in_minute: 0,
      tokens_in_minute: 0,
      waiting: 0,
      waiting_bytes: 0,
      stored_bytes: 0,
      running: 0,
      in_line: 0,
    });
    const [first = '', second = ''] = await arrive(3);
    await arrive(2, { queue: 'other' });
    expect(await use()).toMatchObject({
      requests_in_minute: 5,
      tokens_in_minute: 500,
      waiting: 5,
      running: 0,
      in_line: 1,
    });
    await store.take(first, 'a');
    await store.take(second, 'b');
    // Two have been let into the other queue. There is no place for those that come now.
    await arrive(3);
    await arrive(1, { queue: 'other' });
    expect(await use()).toEqual({
      ...withoutBudgets,
      requests_in_minute: 9,
      tokens_in_minute: 900,
      waiting: 7,
      waiting_bytes: 7 * 1024,
      // What runs is there as well. Each has what it takes beside its content.
      stored_bytes: 9 * (1024 + 2048),
      running: 2,
      in_line: 5,
    });
    await store.write(first, 'a', 3, [], completed({ output: [], usage }, 1));
    // A place is free, so the next one of the first line is let in. It used fewer tokens than were reserved.
    expect(await use()).toMatchObject({
      requests_in_minute: 9,
      tokens_in_minute: 815,
      waiting: 7,
      running: 1,
      in_line: 4,
    });
  });

  it('is unknown where a tenant has no limit, but for what waits', async () => {
    await arrive(2, { limits: {} });
    expect(await use('team-a', {})).toEqual({
      ...withoutBudgets,
      requests_in_minute: null,
      tokens_in_minute: null,
      waiting: 2,
      waiting_bytes: 2048,
      stored_bytes: 2 * (1024 + 2048),
      running: null,
      in_line: null,
    });
  });

  it('is read for each tenant in its place, over more pages than one, and changes nothing', async () => {
    await arrive(1, { tenant: 'first' });
    const [ended = ''] = await arrive(2, { tenant: 'last' });
    await store.take(ended, 'a');
    await store.write(ended, 'a', 3, [], completed(nothingProduced, 1));
    const names = ['first', ...Array.from({ length: 250 }, (_, at) => `idle-${at}`), 'last'];
    const uses = await store.caller.tenantUse(names.map((name) => ({ name, limits })));
    expect(uses).toHaveLength(names.length);
    expect(uses[0]).toMatchObject({ requests_in_minute: 1, waiting: 1 });
    expect(uses.at(-1)).toMatchObject({ requests_in_minute: 2, waiting: 1 });
    const idle = uses.slice(1, -1);
    expect(new Set(idle.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(idle[0]).toMatchObject({
      requests_in_minute: 0,
      tokens_in_minute: 0,
      waiting: 0,
      running: 0,
      in_line: 0,
    });
    const touched = names.flatMap((name) => [store.keys.places(name), store.keys.requestRate(name)]);
    const there = await Promise.all(touched.map((key) => store.server.client.exists(key)));
    expect(there.reduce((sum, each) => sum + each, 0)).toBe(4);
  });
});
