import { costOf } from '@sluice/admission';
import { describe, expect, it } from 'vitest';
import { completed, nothingProduced } from '@sluice/contract';
import { type AcceptedOptions, storeForEachTest } from './store-under-test.ts';

const store = storeForEachTest();

const perPriority = 2 ** 32;
const lastPriority = 2 ** 21;

/** A queue as BullMQ keeps one: a sorted set by priority and order of arrival, and a hash for each job. */
class JobSet {
  readonly order = { jobs: `${store.keys.prefix}jobs`, jobPrefix: `${store.keys.prefix}job:`, perPriority };
  #added = 0;

  async add(id: string, priority: number): Promise<void> {
    const { client } = store.server;
    this.#added += 1;
    await client.zadd(this.order.jobs, String(priority * perPriority + this.#added), id);
    await client.hset(this.order.jobPrefix + id, 'priority', priority);
  }

  /** The next job, taken out. */
  async take(): Promise<string | undefined> {
    const [id] = await store.server.client.zpopmin(this.order.jobs);
    return id;
  }

  ids(): Promise<string[]> {
    return store.server.client.zrange(this.order.jobs, '0', '-1');
  }

  async priorities(): Promise<number[]> {
    const scored = await store.server.client.zrange(this.order.jobs, '0', '-1', 'WITHSCORES');
    return scored.filter((_, at) => at % 2 === 1).map((score) => Math.floor(Number(score) / perPriority));
  }
}

interface Arriving extends AcceptedOptions {
  weight?: number;
}

const tierWeight = { batch: 0.1, flex: 0.25, default: 1, priority: 4 };

/** Accepts a response and adds its job. */
async function arrive(
  queue: JobSet,
  { weight = 1, serviceTier = 'default', ...options }: Arriving = {},
): Promise<string> {
  const cost = costOf(weight, tierWeight[serviceTier]);
  const { responseId, result } = await store.accepting({ streams: false, serviceTier, cost, ...options });
  if (result.kind !== 'accepted' || result.priority === undefined) throw new Error('not accepted');
  await queue.add(responseId, result.priority);
  return responseId;
}

async function arrivals(queue: JobSet, count: number, options: Arriving): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) ids.push(await arrive(queue, options));
  return ids;
}

/** Runs the next job to its end. */
async function runNext(queue: JobSet): Promise<string> {
  const id = await queue.take();
  if (id === undefined) throw new Error('Nothing waits');
  await store.take(id, 'a');
  await store.write(id, 'a', 3, [], completed(nothingProduced, 1));
  return id;
}

async function run(queue: JobSet, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) ids.push(await runNext(queue));
  return ids;
}

describe('the order of a queue', () => {
  it('is that of arrival for one tenant', async () => {
    const queue = new JobSet();
    const ids = await arrivals(queue, 20, {});
    expect(await run(queue, 20)).toEqual(ids);
  });

  it('tells to which flows responses belong that run, and how far each has asked ahead', async () => {
    const queue = new JobSet();
    await arrivals(queue, 5, { tenant: 'heavy' });
    const running = [await queue.take(), await queue.take()].map((id = '') => id);
    for (const id of running) await store.take(id, 'a');
    const light = await arrive(queue, { tenant: 'light', weight: 2 });
    await store.take(light, 'a');
    const responseIds = [...running, light, 'create-response_0unknown'];
    expect(await store.attempts.runningFlows('0', { queue: 'simulator', responseIds })).toEqual({
      passed: 4,
      flows: [
        { running: 2, cost: 4, lead: 16, waiting: 3 },
        { running: 1, cost: 2, lead: 2, waiting: 0 },
      ],
    });
    expect(await store.attempts.runningFlows('0', { queue: 'other', responseIds: [] })).toEqual({
      passed: 0,
      flows: [],
    });
  });

  it('puts a tenant that asks for little before one with a backlog, however long that is', async () => {
    const queue = new JobSet();
    await arrivals(queue, 300, { tenant: 'heavy' });
    await run(queue, 40);
    for (let at = 0; at < 20; at += 1) {
      const light = await arrive(queue, { tenant: 'light' });
      expect(await runNext(queue)).toBe(light);
      await run(queue, 2);
    }
  });

  it.each([
    [1, 1],
    [1, 3],
    [2, 5],
    [0.5, 1],
  ])('gives backlogs with the weights %d and %d their shares', async (one, other) => {
    const queue = new JobSet();
    const ofOne = new Set(await arrivals(queue, 250, { tenant: 'one', weight: one }));
    await arrivals(queue, 250, { tenant: 'other', weight: other });
    const ran = await run(queue, 200);
    const share = ran.filter((id) => ofOne.has(id)).length / ran.length;
    expect(share).toBeGreaterThan((one / (one + other)) * 0.95);
    expect(share).toBeLessThan((one / (one + other)) * 1.05);
  });

  it('gives a tenant no credit for the time in which it asked for nothing, and takes none for what was idle', async () => {
    const queue = new JobSet();
    const busy = new Set(await arrivals(queue, 100, { tenant: 'busy' }));
    await run(queue, 60);
    await arrivals(queue, 100, { tenant: 'late' });
    const ran = await run(queue, 40);
    expect(ran.filter((id) => busy.has(id)).length).toBeGreaterThanOrEqual(19);
    expect(ran.filter((id) => busy.has(id)).length).toBeLessThanOrEqual(21);
  });

  it('lets a tier go on under the load of a higher one, by its weight', async () => {
    const queue = new JobSet();
    const flex = new Set(await arrivals(queue, 40, { serviceTier: 'flex' }));
    await arrivals(queue, 400, { serviceTier: 'priority' });
    const ran = await run(queue, 340);
    expect(ran.filter((id) => flex.has(id)).length).toBeGreaterThanOrEqual(19);
    expect(ran.filter((id) => flex.has(id)).length).toBeLessThanOrEqual(21);
  });

  it('puts a response of a higher tier before the backlog of its own tenant', async () => {
    const queue = new JobSet();
    await arrivals(queue, 100, {});
    await run(queue, 10);
    const urgent = await arrive(queue, { serviceTier: 'priority' });
    expect(await runNext(queue)).toBe(urgent);
  });

  it('puts newcomers before what others had sent away, and that in the order in which it comes back, beside the rest of its own', async () => {
    const queue = new JobSet();
    const flood = await arrivals(queue, 200, { tenant: 'flood' });
    const priorities = await queue.priorities();
    for (const id of flood) {
      expect(await queue.take()).toBe(id);
      await store.take(id, 'a');
      await store.attempts.release({ id, token: 'a' }, { isCounted: false, staysReachable: true });
    }
    for (const [at, id] of flood.entries()) await queue.add(id, priorities[at] ?? 0);
    const newcomer = await arrive(queue, { tenant: 'other' });
    const rest = await arrivals(queue, 50, { tenant: 'flood' });
    const claimed: string[] = [];
    while (!claimed.includes(newcomer)) {
      const id = (await queue.take()) ?? '';
      const claim = await store.take(id, 'b');
      if (claim.kind === 'overtaken') await queue.add(id, claim.priority);
      else claimed.push(id);
    }
    // Those that are only a little behind keep their place.
    expect(claimed).toEqual([...flood.slice(149, 199), newcomer]);
    const waiting = await queue.ids();
    expect(waiting.filter((id) => flood.includes(id)).slice(1, 3)).toEqual([flood[199], flood[1]]);
    for (const at of [10, 40])
      expect(Math.abs(waiting.indexOf(rest[at] ?? '') - waiting.indexOf(flood[at] ?? ''))).toBeLessThan(5);
    const [first = ''] = flood;
    // One that a stopping worker hands over, or whose worker has died, goes on at once, however many have begun meanwhile.
    expect((await store.take(first, 'c')).kind).toBe('run');
    for (const id of await arrivals(queue, 60, { tenant: 'other' })) await store.take(id, 'a');
    await store.attempts.release({ id: first, token: 'c' }, { isCounted: false, isHandOver: true });
    expect((await store.take(first, 'd')).kind).toBe('run');
  });

  it('owes nobody anything for what has come back once it has run', async () => {
    const queue = new JobSet();
    const sendAway = async (id: string) => {
      expect(await queue.take()).toBe(id);
      await store.take(id, 'a');
      await store.attempts.release({ id, token: 'a' }, { isCounted: false, staysReachable: true });
    };
    const takeNext = async () => {
      for (;;) {
        const id = (await queue.take()) ?? '';
        const claim = await store.take(id, 'b');
        if (claim.kind !== 'overtaken') return id;
        await queue.add(id, claim.priority);
      }
    };
    const flood = await arrivals(queue, 200, { tenant: 'flood' });
    const priorities = await queue.priorities();
    for (const id of flood) await sendAway(id);
    for (const [at, id] of flood.entries()) await queue.add(id, priorities[at] ?? 0);
    const served = [];
    for (const _ of flood) served.push(await takeNext());
    expect(served.toSorted()).toEqual(flood.toSorted());
    const late = await arrive(queue, { tenant: 'flood' });
    const [priority = 0] = await queue.priorities();
    await sendAway(late);
    await arrivals(queue, 300, { tenant: 'other' });
    await run(queue, 100);
    await queue.add(late, priority);
    const before = [];
    for (let id = await takeNext(); id !== late; id = await takeNext()) before.push(id);
    expect(before.length).toBeLessThan(5);
  });

  it('is one for each queue', async () => {
    const queue = new JobSet();
    const other = new JobSet();
    await arrivals(queue, 50, {});
    const { result } = await store.accepting({ queue: 'another' });
    expect(result).toMatchObject({ kind: 'accepted', priority: 1 });
    expect(await other.ids()).toHaveLength(50);
  });

  it('is the same for a job that was lost and is added again', async () => {
    const queue = new JobSet();
    const ids = await arrivals(queue, 5, {});
    const priorities = await queue.priorities();
    for (const [at, id] of ids.entries()) {
      const again = await store.attempts.queuePriority(id);
      expect(again).toBeLessThanOrEqual(priorities[at] ?? 0);
      expect(again).toBeGreaterThanOrEqual((priorities[at] ?? 0) - 1);
    }
    expect(await store.attempts.queuePriority('create-response_0000000000000000000000000')).toBe(1);
  });

  it('has a repeated accept answered with the place it has', async () => {
    const tagged = await store.accepted();
    const { client } = store.server;
    expect(Number(await client.hget(store.keys.record(tagged), 'tag'))).toBe(0);
    const next = await store.accepted();
    expect(Number(await client.hget(store.keys.record(next), 'tag'))).toBe(4);
  });
});

describe('the numbers of a queue', () => {
  const fair = () => store.keys.fair('simulator');

  /** Begins as if so many ticks had gone by without an idle moment. */
  async function beginAt(ticks: number): Promise<void> {
    await store.server.client.zadd(fair(), ticks, 'now', ticks - 999_000, 'base');
  }

  async function renumberAll(queue: JobSet): Promise<number> {
    let steps = 1;
    while (await store.attempts.renumber('0', 'simulator', queue.order)) steps += 1;
    return steps;
  }

  it('never end: ten million responses on, they begin again in the order that they had', async () => {
    await beginAt(40_000_000);
    const queue = new JobSet();
    const backlog = await arrivals(queue, 1_200, { tenant: 'heavy' });
    expect(Math.max(...(await queue.priorities()))).toBeGreaterThan(1_000_000);
    expect(await store.attempts.farQueues('0')).toEqual(['simulator']);
    // The virtual time passes the mark by what is run.
    expect(await run(queue, 300)).toEqual(backlog.slice(0, 300));
    expect(await renumberAll(queue)).toBe(2);
    expect(Math.max(...(await queue.priorities()))).toBeLessThan(10_000);
    const light = await arrive(queue, { tenant: 'light' });
    const last = await arrive(queue, { tenant: 'heavy' });
    expect(await runNext(queue)).toBe(light);
    expect(await run(queue, 901)).toEqual([...backlog.slice(300), last]);
    for (const id of backlog.slice(300, 303)) {
      const kept = await store.server.client.hget(queue.order.jobPrefix + id, 'priority');
      expect(Number(kept)).toBeLessThan(10_000);
    }
    expect(await store.attempts.renumber('0', 'simulator', queue.order)).toBe(false);
  });

  it('let nobody jump the queue while they are moved', async () => {
    await beginAt(40_000_000);
    const queue = new JobSet();
    const heavy = await arrivals(queue, 1_000, { tenant: 'heavy' });
    await run(queue, 260);
    // One step of it: some have their new numbers, the others still their old ones.
    expect(await store.attempts.renumber('0', 'simulator', queue.order)).toBe(true);
    const light = await arrive(queue, { tenant: 'light' });
    // Behind everything that waits of its flow.
    const behind = await arrive(queue, { tenant: 'heavy' });
    expect(await queue.ids()).toEqual([light, ...heavy.slice(260), behind]);
    await renumberAll(queue);
    expect(await queue.ids()).toEqual([light, ...heavy.slice(260), behind]);
  });

  it('keep in front what a stopping worker gave back, or what comes back after a while', async () => {
    await beginAt(40_000_000);
    const queue = new JobSet();
    const backlog = await arrivals(queue, 700, { tenant: 'heavy' });
    const [numbered = 0] = await queue.priorities();
    const [back = '', later = '', ...others] = backlog;
    expect(await queue.take()).toBe(back);
    expect(await queue.take()).toBe(later);
    expect(await run(queue, 298)).toEqual(others.slice(0, 298));
    await queue.add(back, numbered);
    await renumberAll(queue);
    const light = await arrive(queue, { tenant: 'light' });
    expect(await queue.ids()).toEqual([back, light, ...others.slice(298)]);
    await queue.add(later, numbered);
    await renumberAll(queue);
    expect((await queue.ids()).slice(0, 3).toSorted()).toEqual([back, later, light].toSorted());
  });

  it('take in a job that was added late, with an old number', async () => {
    await beginAt(40_000_000);
    const queue = new JobSet();
    await arrivals(queue, 400, { tenant: 'heavy' });
    await run(queue, 300);
    const { responseId, result } = await store.accepting({ tenant: 'slow', streams: false });
    if (result.kind !== 'accepted' || result.priority === undefined) throw new Error('not accepted');
    await renumberAll(queue);
    await queue.add(responseId, result.priority);
    expect((await queue.ids()).at(-1)).toBe(responseId);
    await renumberAll(queue);
    expect((await queue.ids())[0]).toBe(responseId);
  });

  it('stay within what there is, also for a backlog of a tenant of the least weight', async () => {
    await beginAt(40_000_000);
    const queue = new JobSet();
    await store.server.client.zadd(fair(), 40_600_000, 'idle:default');
    const far = await arrivals(queue, 10, { tenant: 'idle', weight: 0.1, serviceTier: 'default' });
    const priorities = await queue.priorities();
    expect(Math.max(...priorities)).toBeLessThanOrEqual(lastPriority);
    expect(Math.max(...priorities)).toBeGreaterThan(1_000_000);
    expect(await queue.ids()).toEqual(far);
  });

  it('forget flows that have nothing ahead any more', async () => {
    await beginAt(40_000_000);
    const queue = new JobSet();
    await store.server.client.zadd(fair(), 5, 'gone:default', 39_000_000, 'gone:flex');
    await arrivals(queue, 260, { tenant: 'heavy' });
    await run(queue, 260);
    await renumberAll(queue);
    const members = await store.server.client.zrange(fair(), '0', '-1');
    expect(members).not.toContain('gone:default');
    expect(members).not.toContain('gone:flex');
    expect(members).toContain('base');
  });
});
