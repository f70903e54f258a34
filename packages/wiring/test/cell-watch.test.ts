import { loadSettings, StoredRefusal } from '@sluice/config';
import { LiveCells } from '@sluice/response-store';
import { createLogger, parseRedisCells } from '@sluice/runtime';
import { eventually, latch, testRedis, type TestRedis } from '@sluice/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { CellChanges } from '../src/cells/cell-changes.ts';
import { CellProcesses } from '../src/cells/cell-processes.ts';
import { CellStates } from '../src/cells/cell-states.ts';
import { CellWatch } from '../src/cells/cell-watch.ts';
import { KnownCells } from '../src/cells/known-cells.ts';
import { StoredCells } from '../src/cells/stored-cells.ts';

interface TestCell {
  name: string;
}

let redis: TestRedis;
beforeAll(async () => {
  redis = await testRedis();
});
afterAll(() => redis.close());

const settings = loadSettings({ env: {}, argv: [], cwd: '/' });
const logger = createLogger({ name: 'api', level: 'silent' });
const configured = parseRedisCells('redis://a');
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** What is stored of the cells of a service, whose clock the test may put forward. */
function serviceOf(name: string) {
  const inFirst = { connection: redis.client, keyPrefix: `${redis.prefix}:${name}:` };
  const clock = { aheadMs: 0 };
  const now = () => Date.now() + clock.aheadMs;
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
    const reaches = latch();
    const left: string[] = [];
    const watch = new CellWatch<TestCell>({
      ...{ cells, states, stored, known, now, role, logger },
      processes: new CellProcesses({ ...inFirst, now }),
      connect: (cell) => ({ name: cell.name }),
      start: () => reaches.wait(),
      stop: (cell) => Promise.resolve(void left.push(cell.name)),
    });
    stops.push(() => watch.stop());
    return { cells, states, known, watch, reaches, left, names: () => cells.all.map((cell) => cell.name) };
  }
  const { known, states } = startProcess(undefined);
  const changes = new CellChanges({
    ...{ stored, known, configured, now, logger },
    follow: () => Promise.resolve(),
  });
  const add = (cell: string) =>
    stored.add({ name: cell, url: `redis://b?cell=${cell}`, isDraining: false }, configured);
  return { clock, stored, changes, add, startProcess, states };
}

const { signal } = new AbortController();

describe('a cell that is added while a service runs', () => {
  it('is joined by each process, and opens when all of them have reached it, at one time', async () => {
    const { clock, stored, add, startProcess } = serviceOf('added');
    const [one, other] = [startProcess(), startProcess('worker')];
    await Promise.all([one.watch.start(signal), other.watch.start(signal)]);
    await add('E');
    await eventually(() => one.names().includes('E') && other.names().includes('E'));
    expect(one.states.of('E')).toBe('joining');
    one.reaches.open();
    clock.aheadMs = 6_000;
    const isJoining = async () => (await stored.read()).cells.get('E')?.isJoining === true;
    // Its own note is renewed at each look, and the one process waits for the other.
    await one.watch.look();
    expect(await isJoining()).toBe(true);
    other.reaches.open();
    await eventually(async () => !(await isJoining()));
    await Promise.all([one.watch.look(), other.watch.look()]);
    expect(one.states.open).toEqual(['0']);
    // Another process may find a moment earlier that it is time.
    expect(one.known.former).toContainEqual(['0', 'E']);
    clock.aheadMs += 11_000;
    expect([one.states.open, other.states.open]).toEqual([
      ['0', 'E'],
      ['0', 'E'],
    ]);
    expect(one.known.former).toContainEqual(['0']);
  });

  it('is joined by a process that starts later, before it serves', async () => {
    const { add, startProcess } = serviceOf('later');
    await add('E');
    const late = startProcess();
    late.reaches.open();
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
    // What is stored after that says nothing of it either.
    await add('s');
    await one.watch.look();
    expect(one.names()).toEqual(['0', 'E', 's']);
    await stored.remove('s', configured);
    await one.watch.look();
    await eventually(() => one.left.includes('s'));
    expect(one.names()).toEqual(['0', 'E']);
    await add('s');
    await one.watch.look();
    expect(one.names()).toEqual(['0', 'E', 's']);
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
  const one = startProcess();
  one.reaches.open();
  await one.watch.start(signal);
  expect(one.names()).toEqual(['0', 'E']);
});

it('a process that stood still does not count as current before it has looked again', async () => {
  const one = serviceOf('stood still').startProcess();
  expect(one.watch.isCurrent).toBe(false);
  await one.watch.start(signal);
  expect(one.watch.isCurrent).toBe(true);
  const stoodStill = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000);
  expect(one.watch.isCurrent).toBe(false);
  stoodStill.mockRestore();
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

  it('back to what was before begins to hold from what holds then', async () => {
    const { clock, stored, changes, add, startProcess } = serviceOf('back');
    const one = startProcess();
    await add('E');
    await stored.openJoined(await stored.read(), 'E');
    clock.aheadMs = 11_000;
    await one.watch.look();
    expect(one.states.open).toEqual(['0', 'E']);
    // Its clock is that of Redis, for which the cell is not open yet.
    await changes.drain('E');
    await one.watch.look();
    expect(one.states.open).toEqual(['0']);
    await changes.open('E');
    await one.watch.look();
    expect(one.states.coming.at(-1) ?? one.states.open).toEqual(['0', 'E']);
  });
});
