import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type TaskEnd, type TaskOptions, ThreadPool, type ThreadPoolOptions } from './thread-pool.ts';

/** A thread that does what its task says, and answers with it and with its own number. */
const source = `
  const { parentPort, threadId, workerData } = require('node:worker_threads');
  parentPort.on('message', (task) => {
    if (task === 'hang') for (;;);
    if (task === 'crash') throw new Error('crashed');
    if (task === 'exit') process.exit(0);
    if (task === 'fill the heap') for (const kept = []; ; ) kept.push([kept.length]);
    parentPort.postMessage({ task, threadId });
  });
  if (workerData.saysReady) parentPort.postMessage('ready');
`;

interface Echo {
  task: string;
  threadId: number;
}

let pool: ThreadPool<string, Echo>;
let workers: Worker[];
let errors: unknown[];

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));

afterEach(async () => {
  await pool.stop();
  // No thread is left, and nothing that would end one later.
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

function start(options: Partial<ThreadPoolOptions> = {}, saysReady = options.startWithinMs !== undefined) {
  workers = [];
  errors = [];
  pool = new ThreadPool({
    withinMs: 1_000,
    idleMs: 5_000,
    heapMib: () => 32,
    onError: (error) => errors.push(error),
    start: (resourceLimits) => {
      const worker = new Worker(source, { eval: true, resourceLimits, workerData: { saysReady } });
      workers.push(worker);
      return worker;
    },
    ...options,
  });
}

const run = (task: string, tenant = 'a', options?: TaskOptions) => pool.run(tenant, task, options);

function threadOf(end: TaskEnd<Echo>): number | undefined {
  return end.kind === 'done' ? end.result.threadId : undefined;
}

describe('a thread of a pool', () => {
  it('does one task after the other, and ends once it has been idle for long', async () => {
    start();
    const first = await run('one');
    expect(first).toMatchObject({ kind: 'done', result: { task: 'one' } });
    expect(threadOf(await run('two'))).toBe(threadOf(first));
    const exited = workers.map((worker) => once(worker, 'exit'));
    vi.advanceTimersByTime(5_000);
    await Promise.all(exited);
    expect(threadOf(await run('three'))).not.toBe(threadOf(first));
  });

  it('is replaced when it throws, exits or runs out of its heap', async () => {
    start();
    expect(await run('crash')).toEqual({ kind: 'crashed' });
    expect(await run('exit')).toEqual({ kind: 'crashed' });
    expect(await run('fill the heap')).toEqual({ kind: 'out_of_memory' });
    expect(await run('well')).toMatchObject({ kind: 'done' });
    expect(errors).toEqual([
      expect.objectContaining({ message: 'crashed' }),
      expect.objectContaining({ code: 'ERR_WORKER_OUT_OF_MEMORY' }),
    ]);
  });

  it('is replaced when its task takes too long', async () => {
    start();
    const stuck = run('hang');
    vi.advanceTimersByTime(999);
    expect(workers).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(await stuck).toEqual({ kind: 'timed_out' });
    expect(await run('well')).toMatchObject({ kind: 'done' });
    expect(workers).toHaveLength(2);
  });

  it('has its own time to start where it says that it is ready', async () => {
    start({ startWithinMs: 10_000 });
    const task = run('hang');
    vi.advanceTimersByTime(9_999);
    await once(workers[0] ?? expect.fail(), 'message');
    vi.advanceTimersByTime(999);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1);
    expect(await task).toEqual({ kind: 'timed_out' });
  });

  it('is replaced when it does not start in time', async () => {
    start({ startWithinMs: 10_000 }, false);
    const task = run('hang');
    vi.advanceTimersByTime(10_000);
    expect(await task).toEqual({ kind: 'timed_out' });
  });

  it('ends when heaps have become larger, and stays when they have become smaller', async () => {
    let heapMib = 32;
    start({ heapMib: () => heapMib });
    const first = threadOf(await run('one'));
    heapMib = 16;
    expect(threadOf(await run('two'))).toBe(first);
    heapMib = 48;
    expect(threadOf(await run('three'))).not.toBe(first);
    expect(workers[1]?.resourceLimits?.maxOldGenerationSizeMb).toBe(48);
  });

  it('gets the buffers of its task', async () => {
    start();
    const bytes = new ArrayBuffer(8);
    await run('take', 'a', { transfer: [bytes] });
    expect(bytes.byteLength).toBe(0);
  });
});

describe('tenants of a pool', () => {
  it('take turns, and none has every thread', async () => {
    start();
    const done: string[] = [];
    const greedy = ['hang', 'second', 'third'].map(async (task) => done.push((await run(task)).kind));
    expect(await run('well', 'modest')).toMatchObject({ kind: 'done' });
    // The idle thread is left to others.
    expect(await run('well', 'another')).toMatchObject({ kind: 'done' });
    expect(done).toEqual([]);
    vi.advanceTimersByTime(1_000);
    await Promise.all(greedy);
    expect(done).toEqual(['timed_out', 'done', 'done']);
  });

  it('share the only thread of a pool that has one', async () => {
    start({ threads: 1 });
    const order: string[] = [];
    const tasks = [run('a1'), run('a2'), run('a3'), run('b1', 'b')];
    await Promise.all(
      tasks.map(async (task) => {
        const end = await task;
        if (end.kind === 'done') order.push(end.result.task);
      }),
    );
    expect(order).toEqual(['a1', 'a2', 'b1', 'a3']);
    expect(workers).toHaveLength(1);
  });
});

describe('a task of a pool', () => {
  it('that is given up is not begun, or ends at once for its caller', async () => {
    start();
    const abort = new AbortController();
    const { signal } = abort;
    const tasks = [run('hang', 'a', { signal }), run('crash', 'a', { signal })];
    const last = run('well');
    abort.abort();
    expect(await Promise.all(tasks)).toEqual([{ kind: 'aborted' }, { kind: 'aborted' }]);
    expect(await run('crash', 'a', { signal })).toEqual({ kind: 'aborted' });
    vi.advanceTimersByTime(1_000);
    expect(await last).toMatchObject({ kind: 'done' });
    expect(errors).toEqual([]);
  });

  it('ends with the pool, whether it runs, waits or comes later', async () => {
    start();
    const tasks = [run('hang'), run('waits')];
    await pool.stop();
    expect(await Promise.all([...tasks, run('late')])).toEqual([1, 2, 3].map(() => ({ kind: 'stopped' })));
  });

  it('that is done while its thread is ended sets no timer', async () => {
    start();
    const task = run('hang');
    const stopped = pool.stop();
    workers[0]?.emit('message', { task: 'hang', threadId: 1 });
    expect(vi.getTimerCount()).toBe(0);
    await stopped;
    expect(await task).toEqual({ kind: 'stopped' });
  });
});
