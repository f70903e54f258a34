import { eventually, forAllTests, randomFrom, testRedis, type TestRedis } from '@sluice/testing';
import { describe, expect, it, vi } from 'vitest';
import { DividedLimits, type LimitedCell } from '../src/slots/divided-limits.ts';
import { ToldLimits } from '../src/slots/told-limits.ts';

const redis = forAllTests(testRedis);

const queue = 'm';
const onError = (error: unknown) => {
  throw error;
};

/** Three cells on one server. */
class Cells {
  readonly names = ['0', 'E', 's'];
  readonly #prefix: string;

  constructor(name: string) {
    this.#prefix = `${redis.prefix}:${name}`;
  }

  /** Nobody knows which flows run there. */
  limited<Way extends LimitedCell['connection']>(name: string, connection: Way) {
    const runningFlows = () => Promise.resolve({ passed: 0, flows: [] });
    return { name, connection, keyPrefix: this.prefix(name), runningFlows };
  }

  prefix(cell: string): string {
    return `${this.#prefix}{${cell}}:`;
  }

  key(cell: string, name: string): string {
    return `${this.prefix(cell)}bull:${queue}:${name}`;
  }

  /** All of them. `connectionOf`: the way to a cell; that of the test by default. */
  limitedBy(connectionOf: (cell: string) => Connection = () => redis.client) {
    const [first, ...others] = this.names.map((name) => this.limited(name, connectionOf(name)));
    if (!first) throw new Error('there is no cell');
    return [first, ...others] as const;
  }

  divider(
    process: string,
    limit: () => number | undefined,
    connectionOf?: (cell: string) => Connection,
  ): DividedLimits {
    const all = this.limitedBy(connectionOf);
    const limits = () => new Map([[queue, limit()]]);
    return new DividedLimits({ cells: () => all, limits, process, onError });
  }

  async limits(): Promise<(number | undefined)[]> {
    return (await this.state()).map(({ limit }) => limit);
  }

  /** All of it at one moment. */
  async state(): Promise<{ limit: number | undefined; active: number }[]> {
    const reading = redis.client.multi();
    for (const cell of this.names)
      reading.hget(this.key(cell, 'meta'), 'concurrency').llen(this.key(cell, 'active'));
    const replies = (await reading.exec()) ?? [];
    const read = replies.map(([, reply]) => reply as string | number | null); // of the two commands
    return this.names.map((_cell, at) => {
      const limit = read[2 * at] ?? null;
      return { limit: limit === null ? undefined : Number(limit), active: Number(read[2 * at + 1]) };
    });
  }

  async take(cell: string, count: number): Promise<void> {
    await redis.client.eval(takeJobs, 2, this.key(cell, 'meta'), this.key(cell, 'active'), count);
  }

  /** All but the first so many jobs end. */
  async end(cell: string, but: number): Promise<void> {
    await redis.client.ltrim(this.key(cell, 'active'), but === 0 ? 1 : 0, but - 1);
  }

  async wait(cell: string, count: number): Promise<void> {
    await redis.client.del(this.key(cell, 'wait'));
    if (count > 0) await redis.client.lpush(this.key(cell, 'wait'), ...Array.from({ length: count }, String));
  }
}

/** The way to a cell that is away. */
function away(): Connection {
  return Object.assign(Object.create(redis.client) as Connection, {
    eval: () => Promise.reject(new Error('Connection is closed.')),
  });
}

/** The ways to the cells, of which the last is away. */
const lastAway = (cell: string) => (cell === 's' ? away() : redis.client);

/** The ways to the cells, of which the first does something before each of its queues is read. */
function beforeReads(act: () => Promise<unknown>): (cell: string) => Connection {
  const first = new Proxy(redis.client, {
    get(client, name) {
      if (name !== 'hgetall') return Reflect.get(client, name).bind(client);
      return async (key: string) => {
        if (!key.endsWith('slots-limits')) await act();
        return client.hgetall(key);
      };
    },
  });
  return (cell) => (cell === '0' ? first : redis.client);
}

/** Takes time off the lease of a key. */
const passTime = `
  local left = redis.call('PTTL', KEYS[1]) - ARGV[1]
  if left > 0 then redis.call('PEXPIRE', KEYS[1], left) else redis.call('DEL', KEYS[1]) end`;

/** As BullMQ takes jobs: in one step, as many as the limit allows. */
const takeJobs = `
  local limit = tonumber(redis.call('HGET', KEYS[1], 'concurrency'))
  for job = 1, ARGV[1] do
    if redis.call('LLEN', KEYS[2]) < limit then redis.call('LPUSH', KEYS[2], job) end
  end`;

type Connection = LimitedCell['connection'] & Pick<TestRedis['client'], 'hgetall' | 'hdel' | 'del'>;

async function look(divider: DividedLimits, times = 8): Promise<void> {
  for (let at = 0; at < times; at += 1) await divider.look();
}

describe('a limit that is divided over cells', () => {
  it('is evenly shared while nobody needs it, and goes where jobs wait', async () => {
    const cells = new Cells('follows');
    const divider = cells.divider('one', () => 9);
    await look(divider);
    expect(await cells.limits()).toEqual([3, 3, 3]);
    await cells.wait('E', 100);
    await look(divider);
    expect(await cells.limits()).toEqual([0, 9, 0]);
    await cells.wait('0', 100);
    await cells.wait('s', 100);
    await look(divider);
    expect(await cells.limits()).toEqual([3, 3, 3]);
  });

  it('is zero in a cell before the first look, and comes and goes with the settings', async () => {
    const cells = new Cells('settings');
    let limit: number | undefined = 4;
    const divider = cells.divider('one', () => limit);
    for (const cell of cells.names) await divider.prepare(cells.limited(cell, redis.client));
    expect(await cells.limits()).toEqual([0, 0, 0]);
    await look(divider);
    expect(await cells.limits()).toEqual([2, 1, 1]);
    limit = undefined;
    await look(divider);
    expect(await cells.limits()).toEqual([undefined, undefined, undefined]);
    limit = 3;
    await look(divider);
    expect(await cells.limits()).toEqual([1, 1, 1]);
  });

  it('leaves a cell that does not answer what it has, and gives the rest', async () => {
    const cells = new Cells('away');
    await look(cells.divider('one', () => 9));
    await cells.wait('0', 50);
    await cells.take('0', 3);
    await look(cells.divider('one', () => 9, lastAway));
    expect(await cells.limits()).toEqual([6, 0, 3]);
  });

  it('is shared by the cells that are there when one never was', async () => {
    const cells = new Cells('new');
    await cells.wait('0', 50);
    await look(cells.divider('one', () => 6, lastAway));
    expect((await cells.limits()).slice(0, 2)).toEqual([6, 0]);
  });

  it('is divided although another queue cannot lift its own in a cell that is away', async () => {
    const cells = new Cells('lifts');
    const all = cells.limitedBy(lastAway);
    const limits = () =>
      new Map<string, number | undefined>([
        ['free', undefined],
        [queue, 4],
      ]);
    const divider = new DividedLimits({
      cells: () => all,
      limits,
      process: 'one',
      onError: () => undefined,
    });
    await look(divider);
    expect((await cells.limits()).slice(0, 2)).toEqual([2, 2]);
  });

  it('is divided in each queue although a look at all of them takes longer than the right to stands', async () => {
    const cells = new Cells('many');
    const leader = `${cells.prefix('0')}slots-leader`;
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
    // Each queue takes a fifth of a second.
    const slow = beforeReads(() => {
      now += 200;
      return redis.client.eval(passTime, 1, leader, 200);
    });
    const all = cells.limitedBy(slow);
    const names = [...Array.from({ length: 60 }, (_each, at) => `q${at}`), queue];
    const limits = () => new Map(names.map((name) => [name, 9]));
    const divider = new DividedLimits({ cells: () => all, limits, process: 'one', onError });
    try {
      await look(divider, 1);
    } finally {
      clock.mockRestore();
    }
    expect(await cells.limits()).toEqual([3, 3, 3]);
    expect(await redis.client.get(leader)).toBe('one');
  });

  it('is divided by whoever has the right to, also where that process does not serve the queue', async () => {
    const cells = new Cells('pools');
    const all = cells.limitedBy();
    const ofOthers = new DividedLimits({
      cells: () => all,
      limits: () => new Map([['other', 5]]),
      process: 'one',
      onError,
    });
    await look(ofOthers);
    const divider = cells.divider('two', () => 6);
    await divider.prepare(all[0]);
    await look(divider, 1);
    await look(ofOthers);
    expect(await cells.limits()).toEqual([2, 2, 2]);
  });

  it('is not divided any more when no process has told it for a while', async () => {
    const cells = new Cells('lapsed');
    const told = { connection: redis.client, key: `${cells.prefix('0')}slots-limits` };
    const mine = new ToldLimits();
    const theirs = new ToldLimits();
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
    const tell = async (limit: number | undefined) => {
      const before = await redis.client.hget(told.key, 'a');
      // A note that is told again differs by the time, of which a millisecond may not have gone by.
      await eventually(async () => {
        await new ToldLimits().tell(told, new Map([['a', limit]]));
        return (await redis.client.hget(told.key, 'a')) !== before;
      });
    };
    try {
      await theirs.tell(told, new Map([['b', 2]]));
      await tell(1);
      const all = [
        ['a', 1],
        ['b', 2],
      ] as const;
      expect(await mine.read(told)).toEqual(new Map(all));
      now = 20_000;
      await tell(undefined);
      await mine.read(told);
      now = 30_000;
      expect(await mine.read(told)).toEqual(new Map([['a', undefined]]));
      expect(await redis.client.hkeys(told.key)).toEqual(['a']);
    } finally {
      clock.mockRestore();
    }
    expect(await redis.client.pttl(told.key)).toBeGreaterThan(0);
  });

  it('is divided no further once it is stopped, and again by the next look', async () => {
    const cells = new Cells('stopped');
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    let read = 0;
    const holding = beforeReads(() => {
      read += 1;
      return held;
    });
    const limits = () => new Map(Array.from({ length: 40 }, (_each, at) => [`q${at}`, 9]));
    const all = cells.limitedBy(holding);
    const divider = new DividedLimits({ cells: () => all, limits, process: 'one', onError });
    void divider.look();
    await eventually(() => read === 16);
    const stopped = divider.stop();
    release();
    await stopped;
    expect(read).toBe(16);
    await divider.look();
    expect(read).toBe(16 + 40);
  });

  it('is lifted again where a worker of other settings has set one', async () => {
    const cells = new Cells('mixed');
    const divider = cells.divider('one', () => undefined);
    await look(divider);
    await cells.divider('other', () => 3).prepare(cells.limited('E', redis.client));
    expect((await cells.limits())[1]).toBe(0);
    await look(divider, 12);
    expect((await cells.limits())[1]).toBeUndefined();
  });

  it('of one goes to every cell in its turn, however much waits in another', async () => {
    const cells = new Cells('turns');
    const divider = cells.divider('one', () => 1);
    await cells.wait('0', 30);
    await cells.wait('E', 10);
    const turns = new Map<string, number>();
    for (let at = 0; at < 40; at += 1) {
      await divider.look();
      const limits = await cells.limits();
      const cell = cells.names[limits.indexOf(1)] ?? 'none';
      turns.set(cell, (turns.get(cell) ?? 0) + 1);
    }
    expect(turns.get('E')).toBeGreaterThanOrEqual(9);
    expect(turns.get('0')).toBeGreaterThanOrEqual(28);
  });

  it('is never more than it is, whoever dies or freezes in between', { timeout: 60_000 }, async () => {
    for (let seed = 1; seed <= 60; seed += 1) await runHistory(seed);
  });
});

/** A history of two dividers that die and freeze at any command, and of jobs that begin and end. */
async function runHistory(seed: number): Promise<void> {
  const random = randomFrom(seed);
  const below = (most: number) => Math.floor(random() * most);
  const cells = new Cells(`history${seed}`);
  const limit = 1 + below(7);
  const waiting = new Map<string, number>();
  const violations: string[] = [];
  let isOver = false;
  const check = async () => {
    const state = await cells.state();
    const sum = state.reduce((all, each) => all + Math.max(each.limit ?? 0, each.active), 0);
    if (sum > limit) violations.push(`seed ${seed}: ${JSON.stringify({ limit, state })}`);
  };
  /** A process that stands still at one of its commands until it is told to go on. */
  const frozen: (() => void)[] = [];
  const way = (): Connection =>
    Object.assign(bound(redis.client), {
      eval: async (script: string, count: number, ...args: (string | number)[]) => {
        if (random() < 0.1) throw new Error('it died');
        if (!isOver && random() < 0.15) await new Promise<void>((resolve) => frozen.push(resolve));
        const reply: unknown = await redis.client.eval(script, count, ...args);
        await check();
        if (random() < 0.1) throw new Error('its reply is lost');
        return reply;
      },
    }) as Connection;
  for (const name of cells.names)
    await cells.divider('begin', () => limit).prepare(cells.limited(name, redis.client));
  const looks: Promise<void>[] = [];
  for (let step = 0; step < 40; step += 1) {
    const cell = cells.names[below(cells.names.length)] ?? '0';
    if (random() < 0.3) waiting.set(cell, below(20));
    await cells.wait(cell, waiting.get(cell) ?? 0);
    if (random() < 0.5) await cells.end(cell, below(5));
    else await cells.take(cell, waiting.get(cell) ?? 0);
    await check();
    // A process that dies has successors; its right lapses.
    if (random() < 0.3) await redis.client.del(`${cells.prefix('0')}slots-leader`);
    const divider = cells.divider(`p${step}`, () => limit, way);
    looks.push(divider.look().catch(() => undefined));
    while (frozen.length > 2 || (frozen.length > 0 && random() < 0.5))
      frozen.splice(below(frozen.length), 1)[0]?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  isOver = true;
  for (const goOn of frozen.splice(0)) goOn();
  await Promise.all(looks);
  await check();
  expect(violations).toEqual([]);
}

function bound(client: TestRedis['client']): Omit<Connection, 'eval'> {
  return {
    hsetnx: (...args: Parameters<Connection['hsetnx']>) => client.hsetnx(...args),
    hgetall: (...args: Parameters<Connection['hgetall']>) => client.hgetall(...args),
    hdel: (...args: Parameters<Connection['hdel']>) => client.hdel(...args),
    del: (...args: Parameters<Connection['del']>) => client.del(...args),
  } as Omit<Connection, 'eval'>; // their overloads are passed on
}
