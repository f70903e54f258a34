import { loadSettings, StoredRefusal } from '@sluice/config';
import { LiveCells } from '@sluice/response-store';
import { createLogger, parseRedisCells, StoredEntries } from '@sluice/runtime';
import { eventually, forAllTests, latch, testRedis, type TestRedis } from '@sluice/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CellChanges } from '../src/cells/cell-changes.ts';
import { CellProcesses } from '../src/cells/cell-processes.ts';
import { CellStates } from '../src/cells/cell-states.ts';
import { CellWatch } from '../src/cells/cell-watch.ts';
import { KnownCells } from '../src/cells/known-cells.ts';
import { StoredCells } from '../src/cells/stored-cells.ts';

interface TestCell {
  name: string;
  url?: string;
}

const redis = forAllTests(testRedis);

const settings = loadSettings({ env: {}, argv: [], cwd: '/' });
const logger = createLogger({ name: 'api', level: 'silent' });
const configured = parseRedisCells('redis://a');

/** The server as it looks to a process. */
interface ServerOfTest {
  isAway: boolean;
  uptimeSeconds: number;
  /** How many commands were rejected because it was away. */
  rejected: number;
}

/** Redis as if its clock were that of the test, and its server the one of the test. */
function clockOf(now: () => number, server: ServerOfTest): TestRedis['client'] {
  const time = () => Promise.resolve([String(Math.floor(now() / 1_000)), String((now() % 1_000) * 1_000)]);
  return new Proxy(redis.client, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      if (server.isAway && typeof value === 'function')
        return () => {
          server.rejected += 1;
          return Promise.reject(new Error('Connection is closed.'));
        };
      if (key === 'time') return time;
      if (key === 'info') return () => Promise.resolve(`uptime_in_seconds:${server.uptimeSeconds}\r\n`);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** What is stored of the cells of a service, whose clock the test may put forward. */
function serviceOf(name: string) {
  const clock = { aheadMs: 0 };
  const server: ServerOfTest = { isAway: false, uptimeSeconds: 100_000, rejected: 0 };
  const now = () => Date.now() + clock.aheadMs;
  const inFirst = { connection: clockOf(now, server), keyPrefix: `${redis.prefix}:${name}:` };
  const stored = new StoredCells(inFirst);

  /** A process of the service. It reaches a cell that is added once `reaches` has opened. */
  function startProcess(role: string | undefined = 'api') {
    const cells = new LiveCells<TestCell>({ name: '0' }, []);
    const states = new CellStates(configured, now);
    const known = new KnownCells({
      ...inFirst,
      cells: {
        names: () => cells.all.map((cell) => cell.name),
        open: () => states.open,
        coming: () => states.coming,
      },
      settings,
      logger,
    });
    const reached = new Map<string, ReturnType<typeof latch<void>>>();
    const reachOf = (cell: string) => {
      const found = reached.get(cell) ?? latch();
      reached.set(cell, found);
      return found;
    };
    const left: string[] = [];
    const watch = new CellWatch<TestCell>({
      ...{ cells, states, stored, known, now, role, logger },
      processes: new CellProcesses({ ...inFirst, now }),
      connect: (cell) => ({ ...cell }),
      monotonicNow: () => performance.now() + clock.aheadMs,
      start: (cell) => reachOf(cell.name).wait({ timeoutMs: 600_000 }),
      stop: (cell) => Promise.resolve(void left.push(cell.name)),
    });
    onTestFinished(() => watch.stop());
    const reach = (cell: string) => reachOf(cell).open();
    return { cells, states, known, watch, reach, left, names: () => cells.all.map((cell) => cell.name) };
  }
  const { known, states } = startProcess(undefined);
  const changes = new CellChanges({
    ...{ stored, known, configured, now, logger, durability: 'local' as const },
    follow: () => Promise.resolve(),
  });
  const add = (cell: string, host = 'b') =>
    stored.add({ name: cell, url: `redis://${host}?cell=${cell}`, isDraining: false }, configured);
  /** Puts the clock forward by less than makes a process doubt what it knows, and resolves when all have looked since. */
  async function passed(processes: number): Promise<void> {
    clock.aheadMs += 7_000;
    const from = now();
    await eventually(async () => {
      const notes = await redis.client.hvals(`${inFirst.keyPrefix}cell-processes`);
      return notes.filter((json) => (JSON.parse(json) as { at: number }).at >= from).length === processes;
    });
  }
  /** Has the server away for longer than what a process knows counts as current, in which a process looks three times, and empties it. */
  async function emptied({ uptimeSeconds, stepMs = 3_000 }: { uptimeSeconds: number; stepMs?: number }) {
    server.isAway = true;
    for (let looks = 0; looks < 3; looks += 1) {
      clock.aheadMs += stepMs;
      const before = server.rejected;
      await eventually(() => server.rejected > before);
    }
    await redis.client.del(`${inFirst.keyPrefix}stored-cells`);
    server.uptimeSeconds = uptimeSeconds;
    server.isAway = false;
  }
  return { clock, stored, changes, add, startProcess, states, passed, emptied };
}

const { signal } = new AbortController();

describe('a cell that is added while a service runs', () => {
  it('is joined by each process, and opens when all of them have reached it, at one time', async () => {
    const { clock, stored, add, startProcess, passed } = serviceOf('added');
    const [one, other] = [startProcess(), startProcess('worker')];
    await Promise.all([one.watch.start(signal), other.watch.start(signal)]);
    // One that never gets anywhere holds up no other.
    await add('s');
    await add('E');
    await eventually(() => one.names().includes('E') && other.names().includes('E'));
    expect(one.states.of('E')).toBe('joining');
    one.reach('E');
    const isJoining = async () => (await stored.read()).cells.get('E')?.isJoining === true;
    await passed(2);
    await passed(2);
    expect(await isJoining()).toBe(true);
    other.reach('E');
    await passed(2);
    await eventually(async () => !(await isJoining()));
    await Promise.all([one.watch.look(), other.watch.look()]);
    expect(one.states.open).toEqual(['0']);
    expect(one.states.of('E')).toBe('opening');
    // Another process may find a moment earlier that it is time.
    expect(one.known.former).toContainEqual(['0', 'E']);
    clock.aheadMs += 11_000;
    expect([one.states.open, other.states.open]).toEqual([
      ['0', 'E'],
      ['0', 'E'],
    ]);
    expect(one.known.former).toContainEqual(['0']);
    expect(one.states.of('s')).toBe('joining');
  });

  it('is joined by a process that starts later, before it serves', async () => {
    const { add, startProcess } = serviceOf('later');
    await add('E');
    const late = startProcess();
    late.reach('E');
    await late.watch.start(signal);
    expect(late.names()).toEqual(['0', 'E']);
  });

  it('is left again when it is taken away, and stays while the store is empty', async () => {
    const { stored, add, startProcess } = serviceOf('left');
    const one = startProcess();
    await add('E');
    await one.watch.look();
    await redis.client.del(`${redis.prefix}:left:stored-cells`);
    await one.watch.look();
    expect(one.names()).toEqual(['0', 'E']);
    // This process has not followed the store all the time, so it stores nothing of what it knows.
    expect(await stored.version()).toBeUndefined();
    // What is stored after that says nothing of it either.
    await add('s');
    await one.watch.look();
    expect(one.names()).toEqual(['0', 'E', 's']);
    await stored.remove('s', configured);
    await one.watch.look();
    await eventually(() => one.left.includes('s'));
    expect(one.names()).toEqual(['0', 'E']);
  });

  it('is stored again when the first cell is emptied, with all that was stored', async () => {
    const { stored, add, startProcess } = serviceOf('emptied');
    const one = startProcess();
    await one.watch.start(signal);
    await add('E');
    await add('s');
    await stored.remove('s', configured);
    await one.watch.look();
    const before = await stored.read();
    await redis.client.del(`${redis.prefix}:emptied:stored-cells`);
    await one.watch.look();
    expect(await stored.read()).toEqual(before);
    const late = startProcess();
    late.reach('E');
    await late.watch.start(signal);
    expect(late.names()).toEqual(['0', 'E']);
  });

  it('is stored again when the first cell was away for a while and is another server, which is empty', async () => {
    const { stored, add, startProcess, emptied } = serviceOf('another server');
    const one = startProcess();
    await one.watch.start(signal);
    await add('E');
    await one.watch.look();
    const before = await stored.read();
    await emptied({ uptimeSeconds: 3 });
    await one.watch.look();
    expect(await stored.read()).toEqual(before);
  });

  it.each([
    ['whose server was there all the time', { uptimeSeconds: 100_000 }],
    ['while it stood still itself', { uptimeSeconds: 3, stepMs: 60_000 }],
  ])('is not stored again by a process that did not reach a first cell %s', async (_which, away) => {
    const { stored, add, startProcess, emptied } = serviceOf(`missed ${away.uptimeSeconds}`);
    const one = startProcess();
    await one.watch.start(signal);
    await add('E');
    await one.watch.look();
    await emptied(away);
    await one.watch.look();
    expect(await stored.version()).toBeUndefined();
  });

  it('elsewhere under the name of one that was taken away is another cell', async () => {
    const { clock, stored, changes, add, startProcess } = serviceOf('elsewhere');
    const one = startProcess();
    await add('E');
    await one.watch.look();
    const left = latch();
    one.cells.follow({ join: () => undefined, leave: () => left.wait() });
    await changes.remove('E');
    // Not at once, and not by itself.
    expect((await stored.check('redis://new', configured)).name).toBe('s');
    await expect(add('E', 'new')).rejects.toThrow('was taken away a moment ago');
    clock.aheadMs = 61_000;
    await add('E', 'new');
    await one.watch.look();
    expect(one.names()).toEqual(['0']);
    left.open();
    await eventually(async () => {
      await one.watch.look();
      return one.cells.get('E')?.url === 'redis://new?cell=E';
    });
    expect(one.left).toEqual(['E']);
  });
});

it('what no process of this release has stored keeps none from its start', async () => {
  const { startProcess, add } = serviceOf('strange');
  await add('E');
  const strange = {
    a: 'not JSON',
    b: 'null',
    c: '{"url":"redis://b?cell=E","isOpen":true,"from":0}',
    d: '{"isOpen":1}',
  };
  await redis.client.hset(`${redis.prefix}:strange:stored-cells`, strange);
  await redis.client.hset(`${redis.prefix}:strange:cell-processes`, { a: 'not JSON', b: '{"at":1e15}' });
  const one = startProcess();
  one.reach('E');
  await one.watch.start(signal);
  expect(one.names()).toEqual(['0', 'E']);
});

it('a process that stood still does not count as current before it has looked again', async () => {
  const { clock, startProcess } = serviceOf('stood still');
  const one = startProcess();
  expect([one.watch.isCurrent, one.watch.knowsAll]).toEqual([false, false]);
  await one.watch.start(signal);
  expect([one.watch.isCurrent, one.watch.knowsAll]).toEqual([true, true]);
  clock.aheadMs = 60_000;
  expect([one.watch.isCurrent, one.watch.knowsAll]).toEqual([false, false]);
});

describe('a change of the cells', () => {
  it('is refused when it makes no sense, and says why', async () => {
    const { stored, changes, add } = serviceOf('refused');
    await add('E');
    const refused = async (change: Promise<unknown>) => {
      const error = await change.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(StoredRefusal);
      return (error as StoredRefusal).message;
    };
    expect(await refused(stored.check('redis://b?cell=E', configured))).toContain(
      "the cell 'E', which there is",
    );
    expect(await refused(stored.check('redis://b?cells=3&cluster', configured))).toContain('one cell');
    expect(await refused(stored.check('not an address', configured))).toContain('must be an address');
    expect(await refused(changes.add('redis://127.0.0.1:1?cell=s'))).toContain('is no cell');
    expect(await refused(changes.drain('0'))).toContain('the only cell that takes new responses');
    expect(await refused(changes.drain('q'))).toContain('there is no such cell');
    expect(await refused(changes.open('E'))).toContain('which joins');
    expect(await refused(changes.remove('0'))).toContain('REDIS_URL names');
    expect(await refused(changes.forget('q'))).toContain('there is no such cell');
    // The next name that is free.
    expect(await stored.check('redis://c', configured)).toMatchObject({ name: 's' });
    await changes.remove('E');
    expect((await stored.read()).cells.size).toBe(0);
  });

  it('waits for the one before it, which a process may not have read yet', async () => {
    const { clock, stored, changes, add, startProcess } = serviceOf('back');
    const one = startProcess();
    await add('E');
    await stored.openJoined(await stored.read(), 'E');
    await expect(changes.drain('E')).rejects.toThrow('is about to change: try again in 10 s');
    clock.aheadMs = 11_000;
    await changes.drain('E');
    await expect(changes.open('E')).rejects.toThrow('is about to change');
    clock.aheadMs += 11_000;
    await one.watch.look();
    expect(one.states.open).toEqual(['0']);
    await changes.open('E');
    await one.watch.look();
    expect(one.states.coming).toEqual([['0', 'E']]);
  });

  it('that comes too late to the store changes nothing', async () => {
    const entries = new StoredEntries({ connection: redis.client, key: `${redis.prefix}:late` });
    const change = { from: { version: undefined }, entries: new Map([['E', 'x']]) };
    expect(await entries.change({ ...change, notAfter: Date.now() - 60_000 })).toBe(false);
    expect(await entries.change({ ...change, notAfter: Date.now() + 60_000 })).toBe(true);
  });

  it('of a cell that no address names any more counts for nothing', async () => {
    const { clock, stored } = serviceOf('unnamed');
    const two = parseRedisCells('redis://a redis://b?cell=E');
    await stored.setOpen('E', false, two);
    clock.aheadMs = 11_000;
    await stored.setOpen('E', true, two);
    const draining = parseRedisCells('redis://a redis://b?cell=E&drain');
    await expect(stored.setOpen('0', false, configured)).rejects.toThrow('the only cell');
    await expect(stored.setOpen('0', false, draining)).rejects.toThrow('the only cell');
    await expect(stored.setOpen('E', true, draining)).rejects.toThrow('which REDIS_URL drains');
    const states = new CellStates(draining, () => Date.now() + 60_000);
    const { cells, gone } = await stored.read();
    states.take(cells, gone);
    expect(states.open).toEqual(['0']);
  });
});
