import {
  eventually,
  forEachTest,
  hasServer,
  latch,
  type Latch,
  startLocalRedis,
  startRedisProxy,
  testRedis,
  within,
} from '@sluice/testing';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type Outcome,
  queueName,
  queuePrefix,
  ResponseQueue,
  type ResponseQueueOptions,
  QueueConsumer,
  type QueueConsumerOptions,
  QueueWatchdog,
} from '../src/index.ts';

const name = queueName('simulator');
const settled: Outcome = { kind: 'settled' };

const redis = forEachTest(testRedis);

/** A client whose commands wait for Redis without end, and which does not connect again within a test. */
function lastingClient(url: string): Redis {
  const client = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 60_000, protocol: 2 });
  onTestFinished(async () => client.disconnect());
  client.on('error', () => undefined);
  return client;
}

function aQueue(options: Partial<ResponseQueueOptions> = {}) {
  const queue = new ResponseQueue({
    connection: redis.client,
    keyPrefix: redis.prefix,
    names: [name],
    onError: () => undefined, // Connections are cut while tests end.
    ...options,
  });
  onTestFinished(() => queue.close());
  return queue;
}

type Run = QueueConsumerOptions['run'];

function aConsumer(run: Run, options: Partial<QueueConsumerOptions> = {}) {
  const errors: Error[] = [];
  const defects: unknown[] = [];
  const worker = new QueueConsumer({
    connection: redis.connect(),
    keyPrefix: redis.prefix,
    names: [name],
    concurrency: 5,
    lockMs: 10_000,
    stalledMs: 3_000,
    keep: { completed: 100, failed: 100 },
    run,
    onDeferred: () => undefined,
    onError: (error) => errors.push(error),
    onDefect: (error) => defects.push(error),
    ...options,
  });
  onTestFinished(() => worker.stop());
  return { worker, errors, defects };
}

function aWorker(...options: Parameters<typeof aConsumer>) {
  const made = aConsumer(...options);
  made.worker.start();
  return made;
}

/** An attempt that waits for the test, which learns of each start and decides each outcome. */
function held() {
  const started: string[] = [];
  const gates = new Map<string, Latch<Outcome>>();
  const gate = (id: string) => {
    const known = gates.get(id) ?? latch<Outcome>();
    gates.set(id, known);
    return known;
  };
  const run: Run = async (id) => {
    started.push(id);
    return gate(id).wait();
  };
  return { run, started, finish: (id: string, outcome: Outcome = settled) => gate(id).open(outcome) };
}

/** The queue as BullMQ sees it. */
function bare(): Queue {
  return new Queue(name, {
    connection: redis.client,
    prefix: queuePrefix(redis.prefix),
    skipVersionCheck: true,
  });
}

function stateOf(id: string): Promise<string> {
  return bare().getJobState(id);
}

/** Everything BullMQ keeps, as text. */
async function dump(): Promise<string> {
  const said: unknown[] = [];
  for (const key of await redis.client.keys(`${queuePrefix(redis.prefix)}*`)) {
    said.push(key);
    const type = await redis.client.type(key);
    if (type === 'hash') said.push(await redis.client.hgetall(key));
    else if (type === 'stream') said.push(await redis.client.xrange(key, '-', '+'));
    else if (type === 'zset') said.push(await redis.client.zrange(key, '0', '-1'));
    else if (type === 'list') said.push(await redis.client.lrange(key, 0, -1));
    else if (type === 'set') said.push(await redis.client.smembers(key));
    else said.push(await redis.client.get(key));
  }
  return JSON.stringify(said);
}

describe('a store that refuses each time', () => {
  it('is not asked as fast as it answers', async () => {
    // BullMQ looks for delayed jobs before it takes one. This is no set of them.
    await redis.client.set(`${queuePrefix(redis.prefix)}:${name}:delayed`, 'no set');
    const { errors } = aWorker(() => Promise.resolve(settled), { concurrency: 1 });
    await eventually(() => errors.length > 0);
    const before = errors.length;
    for (let times = 0; times < 100; times += 1) await redis.client.ping();
    expect(errors.length - before).toBeLessThan(10);
  });
});

describe('a store that reads and refuses writes', () => {
  it.skipIf(!hasServer).each<[string, string, string]>([
    ['memory', 'maxmemory', '1'],
    ['replicas', 'min-replicas-to-write', '1'],
  ])('ends no worker when it has no %s (needs a server on the PATH)', async (_, setting, tooFew) => {
    const own = await startLocalRedis({ kind: 'server' });
    onTestFinished(() => own.stop());
    const { connect, client, prefix, close } = await testRedis(own.url);
    onTestFinished(close);
    const queue = aQueue({ connection: client, keyPrefix: prefix });
    const { run, started, finish } = held();
    const isRefusal = ({ message }: Error) => /^(OOM|NOREPLICAS)\b/.test(message);
    const { worker, errors } = aWorker(run, { connection: connect(), keyPrefix: prefix, isRefusal });
    await queue.enqueue(name, 'r1', 1);
    await eventually(() => started.length === 1);
    finish('r1');
    await eventually(() => worker.inHand(name) === 0);
    const stuck: object[] = [];
    let now = 0;
    const watchdog = new QueueWatchdog({
      queue,
      consumer: worker,
      now: () => now,
      onStuck: (found) => stuck.push(found),
    });
    worker.hold(name, 3_000);
    await eventually(async () => /^blocked_clients:0\b/m.test(await client.info('clients')));
    await queue.enqueue(name, 'r2', 1);
    await client.config('SET', setting, tooFew);
    await eventually(() => worker.hasFreeSlot(name));
    for (let looks = 0; looks < 3; looks += 1) {
      const before = errors.length;
      await eventually(() => errors.length > before);
      await watchdog.look();
      now += 31_000;
    }
    expect(stuck).toEqual([]);
    await client.config('SET', setting, '0');
    await eventually(() => started.includes('r2'));
    finish('r2');
  });
});

describe('response queue', () => {
  it('keeps one job of a response that is added twice', async () => {
    const queue = aQueue();
    await Promise.all([
      queue.enqueue(name, 'r1', 1),
      queue.enqueue(name, 'r1', 1),
      queue.enqueueAgain(name, 'r1', 1),
    ]);
    expect(await queue.counts(name)).toMatchObject({ waiting: 1, active: 0 });
    const { run, started, finish } = held();
    aWorker(run);
    finish('r1');
    await eventually(async () => (await queue.counts(name)).completed === 1);
    expect(started).toEqual(['r1']);
  });

  it('keeps a job in one piece of memory, as long as it waits and as long as it is kept', async () => {
    const queue = aQueue();
    const id = `create-response_${'x'.repeat(32)}`;
    const key = `${queuePrefix(redis.prefix)}:${name}:${id}`;
    await queue.enqueue(name, id, 2 ** 21 - 1);
    expect(await redis.client.object('ENCODING', key)).toBe('listpack');
    expect(await redis.client.memory('USAGE', key)).toBeLessThan(400);
    const { run, finish } = held();
    aWorker(run);
    finish(id);
    await eventually(async () => (await queue.counts(name)).completed === 1);
    expect(await redis.client.object('ENCODING', key)).toBe('listpack');
    expect(await redis.client.memory('USAGE', key)).toBeLessThan(500);
  });

  it('keeps jobs in order, with nothing in them but the id', async () => {
    const queue = aQueue();
    await queue.enqueue(name, 'r1', 1);
    const job = await bare().getJob('r1');
    expect(job?.data).toEqual({ id: 'r1' });
    expect(await bare().getPrioritizedCount()).toBe(1);
    expect(await bare().getWaitingCount()).toBe(0);
  });

  it.each<Outcome>([settled, { kind: 'failed', code: 'timeout' }])(
    'adds a job again after it was $kind, which BullMQ alone would ignore',
    async (outcome) => {
      const queue = aQueue();
      let runs = 0;
      aWorker(async () => {
        runs += 1;
        return outcome;
      });
      const state = outcome.kind === 'settled' ? 'completed' : 'failed';
      await queue.enqueue(name, 'r1', 1);
      await eventually(async () => (await stateOf('r1')) === state);
      await queue.enqueue(name, 'r1', 1);
      expect(await stateOf('r1')).toBe(state);
      await queue.enqueueAgain(name, 'r1', 1);
      await eventually(async () => runs === 2 && (await stateOf('r1')) === state);
    },
  );

  it('leaves a job alone that waits or runs when it is added again', async () => {
    const queue = aQueue();
    const { run, started, finish } = held();
    aWorker(run);
    await queue.enqueue(name, 'r1', 1);
    await eventually(() => started.length === 1);
    await queue.enqueueAgain(name, 'r1', 1);
    finish('r1');
    await eventually(async () => (await stateOf('r1')) === 'completed');
    // A job that was added after it and has ended shows that no second one of the first waited before it.
    finish('r2');
    await queue.enqueue(name, 'r2', 1);
    await eventually(async () => (await stateOf('r2')) === 'completed');
    expect(started).toEqual(['r1', 'r2']);
  });

  it('keeps a deferred job out of its queue until it is let in, for longer than it can wait', async () => {
    const queue = aQueue();
    const { run, started, finish } = held();
    await queue.defer(name, 'deferred');
    expect(await queue.isDeferred(name, 'deferred')).toBe(true);
    // Somebody else's to judge, as whether it is pending.
    expect(await queue.isDeferred(queueName('unknown'), 'deferred')).toBe(false);
    expect((await bare().getJob('deferred'))?.delay).toBeGreaterThanOrEqual(86_400_000);
    aWorker(run);
    await queue.letIn(name, 'deferred', 7);
    finish('deferred');
    await eventually(async () => (await stateOf('deferred')) === 'completed');
    expect(started).toEqual(['deferred']);
  });

  it('tells which responses are still meant to run', async () => {
    const queue = aQueue();
    const pending = () => queue.isPending(name, 'r1');
    expect(await pending()).toBe(false);
    await queue.enqueue(name, 'r1', 1);
    expect(await pending()).toBe(true);
    const { run, started, finish } = held();
    aWorker(run);
    await eventually(() => started.length === 1);
    expect(await pending()).toBe(true);
    finish('r1');
    await eventually(async () => !(await pending()));

    await queue.enqueue(name, 'r2', 1);
    finish('r2', { kind: 'later', afterMs: 60_000 });
    await eventually(async () => (await queue.counts(name)).delayed === 1);
    expect(await queue.isPending(name, 'r2')).toBe(true);
  });

  it.each<[string, number, boolean]>([
    ['lies an hour further ahead than it was to wait', -3_600_000, true],
    ['has been over for an hour', 3_600_000, true],
    ['will come', 0, false],
  ])('tells of a job that was given back whether its time %s', async (_, laterMs, isMistimed) => {
    const queue = aQueue();
    aWorker(async () => ({ kind: 'later', afterMs: 60_000 }));
    await queue.enqueue(name, 'r1', 1);
    await eventually(() => queue.isDeferred(name, 'r1'));
    const mistimed = await queue.mistimed(name, 'r1', Date.now() + laterMs);
    expect(mistimed).toEqual(
      isMistimed ? { dueAt: expect.any(Number), delayMs: expect.any(Number) } : undefined,
    );
  });

  it('tells of a deferred job, and of one that waits for a worker, that its time is right', async () => {
    const queue = aQueue();
    await queue.enqueue(name, 'given back', 1);
    const { worker } = aWorker(async () => ({ kind: 'deferred' }));
    await eventually(() => queue.isDeferred(name, 'given back'));
    await worker.quiet();
    await queue.defer(name, 'deferred');
    await queue.enqueue(name, 'waits', 1);
    for (const id of ['given back', 'deferred', 'waits'])
      expect(await queue.mistimed(name, id, Date.now() - 3_600_000)).toBeUndefined();
  });

  it('tells so by one look at the job, however long its queue is', async () => {
    const own = await startLocalRedis();
    const connection = new Redis(own.url, { maxRetriesPerRequest: null });
    const queue = aQueue({ connection });
    try {
      for (const id of ['r1', 'r2']) await queue.enqueue(name, id, 1);
      await connection.config('RESETSTAT');
      expect(await queue.isPending(name, 'r2')).toBe(true);
      const text = await connection.info('commandstats');
      const commands = [...text.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, each = '', count]) => [
        each,
        count,
      ]);
      expect(commands.filter(([each = '']) => !each.startsWith('config'))).toEqual([['hmget', '1']]);
    } finally {
      await queue.close();
      connection.disconnect();
      await own.stop();
    }
  });

  it('takes a waiting job out, and leaves one that runs', async () => {
    const queue = aQueue();
    await queue.enqueue(name, 'r1', 1);
    await queue.remove(name, 'r1');
    await queue.remove(name, 'never-added');
    expect(await stateOf('r1')).toBe('unknown');
    const { run, started, finish } = held();
    aWorker(run);
    await queue.enqueue(name, 'r2', 1);
    await eventually(() => started.length === 1);
    await queue.remove(name, 'r2');
    expect(await stateOf('r2')).toBe('active');
    finish('r2');
    await eventually(async () => (await stateOf('r2')) === 'completed');
  });

  it('keeps as many finished jobs as it is told to', async () => {
    const queue = aQueue();
    const { run, finish } = held();
    aWorker(run, { keep: { completed: 2, failed: 0 } });
    for (let at = 0; at < 5; at += 1) {
      finish(`ok-${at}`);
      finish(`no-${at}`, { kind: 'failed', code: 'timeout' });
      await queue.enqueue(name, `ok-${at}`, 1);
      await queue.enqueue(name, `no-${at}`, 1);
    }
    await eventually(async () => {
      const { waiting, active, completed, failed } = await queue.counts(name);
      return waiting + active + failed === 0 && completed === 2;
    });
  });

  it('keeps a sample of the completed jobs when they come fast', async () => {
    const queue = aQueue();
    let runs = 0;
    aWorker(
      () => {
        runs += 1;
        return Promise.resolve(settled);
      },
      { concurrency: 64, keep: { completed: 1_000, failed: 1_000 } },
    );
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: 400 }, (_, at) => queue.enqueue(name, `fast-${at}`, 1)));
    await eventually(() => runs === 400);
    await eventually(async () => {
      const { waiting, active } = await queue.counts(name);
      return waiting + active === 0;
    });
    const { completed } = await queue.counts(name);
    // As many as are kept in a second, for each second that it touched.
    const seconds = Math.floor((performance.now() - startedAt) / 1000) + 2;
    expect(completed).toBeGreaterThanOrEqual(20);
    expect(completed).toBeLessThanOrEqual(Math.min(20 * seconds, 399));
  });

  it('has a queue for every model, whatever its name', async () => {
    const names = ['org/model:tag', 'ein Modell', '模型'].map(queueName);
    const queue = aQueue({ names });
    expect(queue.names).toEqual(names);
    for (const each of names) {
      await queue.enqueue(each, 'r1', 1);
      expect(await queue.counts(each)).toMatchObject({ waiting: 1 });
    }
  });

  it('names others after a change of the models, and can still be used for one that it does not name', async () => {
    const queue = aQueue();
    await queue.enqueue(name, 'r1', 1);
    queue.setNames(['added']);
    expect(queue.names).toEqual(['added']);
    expect(queue.forDashboard().map((each) => each.name)).toEqual(['added']);
    expect(await queue.isPending(name, 'r1')).toBe(true);
    await queue.defer('elsewhere', 'r2');
    expect(await queue.isDeferred('elsewhere', 'r2')).toBe(true);
    queue.letInAll([{ queue: 'elsewhere', responseId: 'r2', priority: 1 }]);
    await eventually(async () => (await queue.ahead('elsewhere', 'r2')) === 0);
    expect(queue.names).toEqual(['added']);
  });
});

describe('the room in a queue', () => {
  it('is what a worker with a free slot could take', async () => {
    const queue = aQueue();
    expect(await queue.room(name)).toEqual({ waiting: 0, isPaused: false, hasRoom: true });
    await queue.limitConcurrency(name, 1);
    await queue.enqueue(name, 'r1', 1);
    await queue.enqueue(name, 'r2', 1);
    expect(await queue.room(name)).toEqual({ waiting: 2, isPaused: false, hasRoom: true });
    const { run, started, finish } = held();
    aWorker(run);
    await eventually(() => started.length === 1);
    expect(await queue.room(name)).toEqual({ waiting: 1, isPaused: false, hasRoom: false });
    await bare().pause();
    finish('r1');
    await eventually(async () => (await queue.room(name)).hasRoom);
    expect(await queue.room(name)).toMatchObject({ isPaused: true });
  });
});

describe('a worker that hears nothing from Redis', () => {
  it('is found by the watchdog, and one that goes on is not', async () => {
    const proxy = await startRedisProxy(redis.url);
    onTestFinished(() => proxy.stop());
    const deaf = new Redis(proxy.url, { maxRetriesPerRequest: null, protocol: 2 });
    deaf.on('error', () => undefined);
    onTestFinished(async () => deaf.disconnect());
    const queue = aQueue();
    const { run, started, finish } = held();
    const { worker } = aWorker(run, { connection: deaf, concurrency: 2 });
    const stuck: object[] = [];
    let now = 0;
    const watchdog = new QueueWatchdog({
      queue,
      consumer: worker,
      now: () => now,
      onStuck: (found) => stuck.push(found),
    });
    const lookTwice = async () => {
      await watchdog.look();
      now += 31_000;
      await watchdog.look();
    };
    await queue.enqueue(name, 'r1', 1);
    await eventually(() => started.length === 1);
    await lookTwice();
    expect(stuck).toEqual([]);
    proxy.silence();
    await queue.enqueue(name, 'r2', 1);
    // A fetch that was sent before may still take it on the server.
    await queue.enqueue(name, 'r3', 1);
    await queue.enqueue(name, 'r4', 1);
    await lookTwice();
    expect(stuck).toEqual([{ queue: 'simulator', waiting: expect.any(Number), forMs: 31_000 }]);
    proxy.speak();
    for (const id of ['r1', 'r2', 'r3', 'r4']) finish(id);
    await eventually(async () => (await queue.counts(name)).completed === 4);
  });
});

describe('response worker', () => {
  it('starts a whole burst at once, up to its slots', async () => {
    const queue = aQueue();
    const { run, started, finish } = held();
    aWorker(run, { concurrency: 18 });
    const ids = Array.from({ length: 19 }, (_, at) => `r${at}`);
    await Promise.all(ids.map((id) => queue.enqueue(name, id, 1)));
    await eventually(() => started.length === 18);
    expect(await queue.counts(name)).toMatchObject({ active: 18, waiting: 1 });
    for (const id of ids) finish(id);
    await eventually(() => started.length === 19);
    await eventually(async () => (await queue.counts(name)).completed === 19);
    expect(await queue.counts(name)).toMatchObject({ active: 0, waiting: 0 });
  });

  it('opens no more connections for a thousand slots than for some hundreds, and fills them all', async () => {
    const queue = aQueue();
    const { run, started, finish } = held();
    const ids = Array.from({ length: 1_001 }, (_, at) => `r${at}`);
    await Promise.all(ids.map((id) => queue.enqueue(name, id, 1)));
    const opened: Redis[] = [];
    const connection = redis.connect();
    const duplicate = connection.duplicate.bind(connection);
    connection.duplicate = (...args) => {
      const client = duplicate(...args);
      opened.push(client);
      return client;
    };
    aWorker(run, { connection, concurrency: 1_000 });
    await eventually(() => started.length === 1_000);
    expect(opened).toHaveLength(32);
    for (const id of ids) finish(id);
    await eventually(() => started.length === 1_001);
  });

  it('holds the limit of a queue over all workers', async () => {
    const queue = aQueue();
    await queue.limitConcurrency(name, 3);
    let running = 0;
    let most = 0;
    let ended = 0;
    const isFull = latch();
    const run: Run = async () => {
      running += 1;
      most = Math.max(most, running);
      if (running === 3) isFull.open();
      await isFull.wait();
      // Long enough for another worker to start one too many: a round trip through the store.
      await redis.client.ping();
      running -= 1;
      ended += 1;
      return settled;
    };
    aWorker(run);
    aWorker(run);
    const ids = Array.from({ length: 30 }, (_, at) => `r${at}`);
    await Promise.all(ids.map((id) => queue.enqueue(name, id, 1)));
    await eventually(() => ended === 30);
    expect(most).toBe(3);
    await queue.limitConcurrency(name, undefined);
    expect(await bare().getGlobalConcurrency()).toBeNull();
  });

  it('takes nothing new when it is quiet, and stops when the last attempt is over', async () => {
    const queue = aQueue();
    const { run, started, finish } = held();
    const { worker } = aWorker(run);
    await queue.enqueue(name, 'r1', 1);
    await eventually(() => started.length === 1);
    expect(worker.isRunning).toBe(true);
    await worker.quiet();
    expect(worker.isRunning).toBe(false);
    await queue.enqueue(name, 'r2', 1);
    let isStopped = false;
    const stopping = worker.stop().then(() => (isStopped = true));
    await redis.client.ping();
    expect(isStopped).toBe(false);
    finish('r1');
    await within(stopping);
    expect(started).toEqual(['r1']);
    expect(await queue.counts(name)).toMatchObject({ completed: 1, waiting: 1, active: 0 });
    await worker.stop();
  });

  it('stops without having started', async () => {
    const { worker } = aConsumer(async () => settled);
    await worker.stop();
    expect(worker.isRunning).toBe(false);
  });

  it('stops while Redis is away', async () => {
    const proxy = await startRedisProxy(redis.url);
    const client = lastingClient(proxy.url);
    const { worker } = aWorker(async () => settled, { connection: client, concurrency: 20 });
    await eventually(() => worker.isRunning && client.status === 'ready');
    await proxy.stop();
    // By now every connection of the worker waits for its next attempt.
    await eventually(() => client.status === 'reconnecting');
    await worker.quiet();
    await within(worker.stop());
  });

  it('hears from Redis each second, also when a delayed job is due much later', async () => {
    const own = await startLocalRedis();
    onTestFinished(() => own.stop());
    const { connect, client, prefix, close } = await testRedis(own.url);
    onTestFinished(close);
    const queue = new Queue(name, { connection: client, prefix: queuePrefix(prefix) });
    await queue.add('response', { id: 'r1' }, { jobId: 'r1', delay: 60_000 });
    aWorker(async () => settled, { connection: connect(), keyPrefix: prefix, concurrency: 1 });
    const calls = async () =>
      Number(/cmdstat_bzpopmin:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0);
    await eventually(async () => (await calls()) >= 3, { timeoutMs: 30_000 });
  });

  it('stops when it never reached Redis', async () => {
    const proxy = await startRedisProxy(redis.url);
    await proxy.stop();
    const client = lastingClient(proxy.url);
    const { worker } = aWorker(async () => settled, { connection: client, concurrency: 20 });
    await eventually(() => client.status === 'reconnecting');
    await worker.quiet();
    await within(worker.stop());
  });

  it('stops while Redis is away and has not answered to the end of a job', async () => {
    const proxy = await startRedisProxy(redis.url);
    const client = lastingClient(proxy.url);
    const { worker } = aWorker(
      async () => {
        proxy.silence();
        return settled;
      },
      { connection: client, concurrency: 1 },
    );
    await aQueue().enqueue(name, 'r1', 1);
    await eventually(async () => (await stateOf('r1')) === 'completed');
    await proxy.stop();
    await eventually(() => client.status === 'reconnecting');
    await worker.quiet();
    await within(worker.stop());
  });

  it('stops while Redis is away and cannot take back what was given up', async () => {
    const proxy = await startRedisProxy(redis.url);
    const client = lastingClient(proxy.url);
    const ended = latch();
    const { worker } = aWorker(
      async () => {
        await proxy.stop();
        await eventually(() => client.status === 'reconnecting');
        ended.open();
        return { kind: 'given_back' };
      },
      { connection: client, concurrency: 1 },
    );
    await aQueue().enqueue(name, 'r1', 1);
    await ended.wait();
    await worker.quiet();
    await within(worker.stop());
  });

  it('serves other queues when it is told to, and ends what runs of those that it leaves', async () => {
    const queue = aQueue();
    const { run, started, finish } = held();
    const { worker, errors } = aWorker(run);
    await queue.enqueue(name, 'r1', 1);
    await eventually(() => started.includes('r1'));
    worker.serve(['added']);
    expect(worker.isTaking(name)).toBe(false);
    expect(worker.hasFreeSlot(name)).toBe(false);
    await queue.enqueue(name, 'r2', 1);
    await queue.enqueue('added', 'r3', 1);
    await eventually(() => started.includes('r3'));
    finish('r1');
    finish('r3');
    await eventually(async () => (await queue.counts(name)).completed === 1);
    // One that was waiting for a job took the second and gave it back.
    await eventually(async () => (await queue.counts(name)).active === 0);
    expect(started).toEqual(['r1', 'r3']);
    expect(await queue.counts(name)).toMatchObject({ waiting: 1 });
    worker.serve([name]);
    await eventually(() => started.includes('r2'));
    finish('r2');
    expect(worker.isRunning).toBe(true);
    expect(errors).toEqual([]);
  });

  it('gives a response back to the front of the queue, for another worker', async () => {
    const queue = aQueue();
    const first = held();
    const { worker } = aWorker(first.run, { concurrency: 1 });
    await queue.enqueue(name, 'r1', 1);
    await eventually(() => first.started.length === 1);
    await queue.enqueue(name, 'r2', 1);
    await worker.quiet();
    first.finish('r1', { kind: 'given_back' });
    await within(worker.stop());
    expect(await queue.counts(name)).toMatchObject({ waiting: 2, active: 0 });
    const job = await bare().getJob('r1');
    expect(job?.attemptsMade).toBe(0);

    const second = held();
    aWorker(second.run, { concurrency: 1 });
    second.finish('r1');
    second.finish('r2');
    await eventually(async () => (await queue.counts(name)).completed === 2);
    expect(second.started).toEqual(['r1', 'r2']);
  });

  it('takes no jobs of a queue that is held until its time is over, and runs on what it has', async () => {
    const names = [name, queueName('other')];
    const queue = aQueue({ names });
    const { run, started, finish } = held();
    const { worker } = aWorker(run, { names, concurrency: 2 });
    await queue.enqueue(name, 'running', 1);
    await eventually(() => started.length === 1);
    const ids = ['r1', 'r2', 'r3'];
    let early: string[] | undefined;
    setTimeout(() => {
      early = started.filter((id) => ids.includes(id));
    }, 2_500);
    worker.hold(name, 2_500);
    // A shorter hold changes nothing.
    worker.hold(name, 1);
    expect(worker.isRunning).toBe(true);
    // Or the watchdog would take it for stuck.
    expect(worker.hasFreeSlot(name)).toBe(false);
    expect(worker.hasFreeSlot(queueName('other'))).toBe(true);
    for (const id of ids) await queue.enqueue(name, id, 1);
    await queue.enqueue(queueName('other'), 'elsewhere', 1);
    await eventually(() => started.includes('elsewhere'));
    finish('running');
    await eventually(async () => (await stateOf('running')) === 'completed');
    for (const id of [...ids, 'elsewhere']) finish(id);
    await eventually(async () => (await stateOf('r3')) === 'completed');
    // The fetch that was under way may take one job, the others have to wait.
    expect(early?.length).toBeLessThanOrEqual(1);
    expect(worker.isRunning).toBe(true);
  });

  it('stops at once although a queue is held', async () => {
    const queue = aQueue();
    const { worker } = aWorker(() => Promise.resolve(settled));
    worker.hold(name, 3_600_000);
    await queue.enqueue(name, 'r1', 1);
    await within(worker.stop());
  });

  it('runs a response later when it is told to', async () => {
    const queue = aQueue();
    let runs = 0;
    aWorker(async () => {
      runs += 1;
      return runs === 1 ? { kind: 'later', afterMs: 20 } : settled;
    });
    await queue.enqueue(name, 'r1', 1);
    await eventually(async () => (await stateOf('r1')) === 'completed');
    expect(runs).toBe(2);
  });

  it('leaves a run alone whose lock is lost, and has its job looked at again when it is over', async () => {
    const queue = aQueue();
    const { run, started, finish } = held();
    // BullMQ owns these clocks: a renewal every 500 ms, a look for stalled jobs every 500 ms.
    aWorker(run, { lockMs: 1_500, stalledMs: 500 });
    await queue.enqueue(name, 'r1', 1);
    await eventually(() => started.length === 1);
    await redis.client.del(`${queuePrefix(redis.prefix)}:${name}:r1:lock`);
    // It was delivered to this process, which runs it already, and put off.
    await eventually(async () => (await stateOf('r1')) === 'delayed');
    expect(started).toEqual(['r1']);
    finish('r1');
    await eventually(async () => (await stateOf('r1')) === 'completed');
  });
});

describe('what BullMQ keeps', () => {
  it('is the id and the code of a failure, whatever happened', async () => {
    const queue = aQueue();
    const secret = 'the prompt of a client';
    const { defects } = aWorker(async (id) => {
      if (id === 'rejects') throw new Error(secret);
      // oxlint-disable-next-line typescript/only-throw-error -- a library may throw anything
      if (id === 'rejects-oddly') throw { message: secret };
      if (id === 'fails') return { kind: 'failed', code: 'model_error' };
      return settled;
    });
    const ids = ['rejects', 'rejects-oddly', 'fails', 'settles'];
    for (const id of ids) await queue.enqueue(name, id, 1);
    await eventually(async () => {
      const { completed, failed } = await queue.counts(name);
      return completed === 1 && failed === 3;
    });
    const jobs = await Promise.all(ids.map((id) => bare().getJob(id)));
    expect(jobs.map((job) => job?.failedReason)).toEqual([
      'server_error',
      'server_error',
      'model_error',
      undefined,
    ]);
    for (const job of jobs) {
      expect(job?.returnvalue ?? null).toBeNull();
      expect(job?.stacktrace ?? []).toEqual([]);
      expect(job?.data).toEqual({ id: job?.id });
    }
    expect(await dump()).not.toContain(secret);
    expect(await dump()).not.toContain('.ts:');
    expect(defects).toEqual(
      expect.arrayContaining([expect.objectContaining({ message: secret }), { message: secret }]),
    );
  });
});

describe('the depth of a queue', () => {
  it('is what waits, what runs, and what has waited longest, whatever the order', async () => {
    const queue = aQueue();
    const empty = { waiting: 0, active: 0, isPaused: false };
    expect(await queue.depth(name)).toEqual({ ...empty, oldest: undefined, oldestReady: undefined });
    const begunAt = Date.now();
    await queue.enqueue(name, 'oldest', 50);
    await eventually(() => Date.now() > begunAt + 2);
    await queue.enqueue(name, 'first', 1);
    await queue.defer(name, 'deferred');
    await queue.pause(name);
    const depth = await queue.depth(name);
    expect(depth).toMatchObject({ waiting: 3, active: 0, isPaused: true, oldest: { responseId: 'oldest' } });
    expect(depth.oldest?.addedAt).toBeGreaterThanOrEqual(begunAt);
    await queue.remove(name, 'oldest');
    expect((await queue.depth(name)).oldest?.responseId).toBe('first');
    await queue.resume(name);
    const running = latch();
    const goOn = latch();
    aWorker(async () => {
      running.open();
      await goOn.wait();
      return settled;
    });
    await running.wait();
    expect(await queue.depth(name)).toMatchObject({
      waiting: 1,
      active: 1,
      isPaused: false,
      oldest: { responseId: 'deferred' },
      oldestReady: undefined,
    });
    goOn.open();
  });

  it('finds one that waits outside behind many that come back soon', async () => {
    const queue = aQueue();
    await queue.defer(name, 'deferred');
    for (let at = 0; at < 60; at += 1) await queue.enqueue(name, `job${at}`, at + 1);
    expect(await queue.depth(name)).toMatchObject({
      waiting: 61,
      oldest: { responseId: 'deferred' },
      oldestReady: { responseId: 'job0' },
    });
  });
});
