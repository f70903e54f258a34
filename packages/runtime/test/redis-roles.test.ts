import {
  eventually,
  freePort,
  type LocalRedis,
  startLocalRedis,
  startRedisProxy,
  testRedis,
  type TestRedis,
  within,
} from '@sluice/testing';
import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import {
  closeRedis,
  commandClient,
  largeValueClient,
  createLogger,
  inspectRedis,
  isNeverSent,
  isRedisUnavailable,
  queueClient,
  RedisClock,
  subscriberClient,
  waitForRedis,
  writerClient,
} from '../src/index.ts';

interface Opened {
  client: Redis;
  /** The lines that the client logged. */
  lines: string[];
}

function open(role: typeof commandClient, url: string): Opened {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const client = role(url, { logger: createLogger({ name: 'test', level: 'info', destination }) });
  onTestFinished(() => closeRedis(client));
  return { client, lines };
}

async function ready(role: typeof commandClient, url: string): Promise<Opened> {
  const opened = open(role, url);
  await waitForRedis(opened.client, AbortSignal.timeout(10_000));
  return opened;
}

/** A client that is ready, with a proxy between it and its Redis. */
async function proxied(role: typeof commandClient) {
  const redis = await sharedRedis();
  const proxy = await startRedisProxy(redis.url);
  onTestFinished(() => proxy.stop());
  const { client } = await ready(role, proxy.url);
  return { redis, proxy, client };
}

async function sharedRedis(url?: string): Promise<TestRedis> {
  const redis = await testRedis(url);
  onTestFinished(() => redis.close());
  return redis;
}

/** A Redis of the test's own, or the one of before, again. */
async function ownRedis({ directory, port }: Partial<LocalRedis> = {}): Promise<LocalRedis> {
  const again = directory !== undefined && port !== undefined && { directory, port };
  const redis = await startLocalRedis({ ...again });
  onTestFinished(() => redis.stop());
  return redis;
}

/** Has a Redis stand still until it is told to go on, or the test is over. */
function freeze({ pid }: LocalRedis): () => void {
  const goOn = () => void process.kill(pid, 'SIGCONT');
  process.kill(pid, 'SIGSTOP');
  onTestFinished(goOn);
  return goOn;
}

describe('command client', () => {
  it('fails at once while Redis is away, and works when it is there', async () => {
    const redis = await ownRedis();
    const { client } = await ready(commandClient, redis.url);
    await redis.kill();
    await eventually(() => client.status !== 'ready');
    let attempts = 0;
    client.on('reconnecting', () => (attempts += 1));
    // One after the other, and yet all of them before another attempt or two to connect.
    for (let at = 0; at < 50; at += 1) await expect(client.ping()).rejects.toThrow();
    expect(attempts).toBeLessThan(3);

    await ownRedis(redis);
    await waitForRedis(client, AbortSignal.timeout(3000));
    expect(await client.ping()).toBe('PONG');
  });

  it('fails within a second or so while Redis is frozen', async () => {
    const redis = await ownRedis();
    const { client } = await ready(commandClient, redis.url);
    const goOn = freeze(redis);
    expect(client.options.commandTimeout).toBe(1_000);
    await expect(client.set('frozen', '1')).rejects.toThrow('Command timed out');
    await expect(within(client.ping())).rejects.toThrow(/Command timed out|silent|answer/);
    goOn();
    await eventually(async () => (await client.ping()) === 'PONG');
  });

  it('rejects a command whose reply was lost, and does not send it again', async () => {
    const { redis, proxy, client } = await proxied(commandClient);
    proxy.loseReplyTo('incr');
    await expect(client.incr(`${redis.prefix}:count`)).rejects.toThrow();
    await waitForRedis(client, AbortSignal.timeout(5000));
    await client.ping();
    expect(await redis.client.get(`${redis.prefix}:count`)).toBe('1');
  });

  it('leaves a primary that became a replica', async () => {
    const redis = await ownRedis();
    const { client } = await ready(commandClient, redis.url);
    await client.replicaof('127.0.0.1', String(await freePort()));
    const reconnected = new Promise((resolve) => client.once('close', resolve));
    await expect(client.set('a', '1')).rejects.toThrow('READONLY');
    await within(reconnected);
  });

  it('leaves it once, however many commands were under way', async () => {
    const redis = await ownRedis();
    const { client } = await ready(commandClient, redis.url);
    await client.replicaof('127.0.0.1', String(await freePort()));
    const { stream } = client;
    const before = stream.listenerCount('close');
    const reconnected = new Promise((resolve) => client.once('close', resolve));
    let most = 0;
    const writes = Array.from({ length: 50 }, (_, at) =>
      client.set(`a${at}`, '1').catch((error: Error) => {
        most = Math.max(most, stream.listenerCount('close'));
        return error.message;
      }),
    );
    for (const answer of await Promise.all(writes)) expect(answer).toContain('READONLY');
    expect(most - before).toBe(1);
    await within(reconnected);
  });
});

describe('writer client', () => {
  it('waits longer than a command client for a slow Redis', async () => {
    const redis = await ownRedis();
    const { client } = await ready(writerClient, redis.url);
    const hasty = await ready(commandClient, redis.url);
    const goOn = freeze(redis);
    const write = client.set('slow', '1');
    await expect(hasty.client.ping()).rejects.toThrow('Command timed out');
    goOn();
    expect(await write).toBe('OK');
  });
});

describe('large value client', () => {
  it('can be cut by whoever waits too long, and is back when Redis is', async () => {
    const redis = await ownRedis();
    const { client } = await ready(largeValueClient, redis.url);
    const goOn = freeze(redis);
    const write = client.set('large', Buffer.alloc(20_000_000));
    client.disconnect(true);
    await expect(write).rejects.toThrow();
    goOn();
    await waitForRedis(client, AbortSignal.timeout(5000));
    expect(await client.ping()).toBe('PONG');
  });
});

describe('queue client', () => {
  it('lets an idle worker block without time-outs', async () => {
    const redis = await sharedRedis();
    const { client, lines } = await ready(queueClient, redis.url);
    const errors: Error[] = [];
    const worker = new Worker('idle', () => Promise.resolve(), {
      connection: client,
      prefix: redis.prefix,
      drainDelay: 1,
    });
    worker.on('error', (error) => errors.push(error));
    await worker.waitUntilReady();
    const queue = new Queue('idle', { connection: redis.client, prefix: redis.prefix });
    // As long as a command time-out would allow a blocking read to last.
    const hasty = await ready(commandClient, redis.url);
    await expect(hasty.client.blpop(`${redis.prefix}:never`, 10)).rejects.toThrow('Command timed out');
    const done = new Promise((resolve) => worker.once('completed', resolve));
    await queue.add('job', {});
    await within(done);
    await worker.close();
    await queue.close();
    expect(errors).toEqual([]);
    expect(lines).toEqual([]);
  });

  it('keeps a command through an outage', async () => {
    const redis = await ownRedis();
    const { client } = await ready(queueClient, redis.url);
    await redis.kill();
    await eventually(() => client.status === 'reconnecting');
    const command = client.ping();
    await ownRedis(redis);
    expect(await within(command)).toBe('PONG');
  });
});

describe('subscriber client', () => {
  it('subscribes again after an outage', async () => {
    const redis = await ownRedis();
    const { client } = open(subscriberClient, redis.url);
    const messages: string[] = [];
    client.on('message', (_channel, message) => messages.push(message));
    await client.subscribe('news');
    await redis.kill();
    await ownRedis(redis);
    const publisher = await sharedRedis(redis.url);
    await eventually(async () => (await publisher.client.publish('news', 'back')) > 0);
    await eventually(() => messages.includes('back'));
  });
});

describe('a command client of a Redis that does not answer', () => {
  it('sends nothing more until the first byte, and says so', async () => {
    const { redis, proxy, client } = await proxied(commandClient);
    const key = `${redis.prefix}:count`;
    const owed = () => client.incr(key).catch((error: unknown) => error);
    proxy.silence();
    expect(isNeverSent(await owed())).toBe(false);
    const refused = await eventually(async () => {
      const error = await owed();
      return isNeverSent(error) && error;
    });
    expect(isRedisUnavailable(refused)).toBe(true);
    const sent = await redis.client.get(key);
    const errors = await Promise.all(Array.from({ length: 1_000 }, owed));
    expect(errors.filter((error) => !isNeverSent(error))).toEqual([]);
    expect(await redis.client.get(key)).toBe(sent);
    let lost = 0;
    client.on('close', () => (lost += 1));
    proxy.speak();
    await eventually(async () => (await client.ping()) === 'PONG');
    expect(lost).toBe(0);
  });

  it('trusts a new connection', async () => {
    const { proxy, client } = await proxied(commandClient);
    proxy.silence();
    await eventually(async () => isNeverSent(await client.ping().catch((error: unknown) => error)));
    proxy.cut();
    proxy.speak();
    await eventually(async () => (await client.ping()) === 'PONG');
  });
});

describe('a failure that says that a command was never sent', () => {
  it('is that of a connection which is not there, and not that of one which was lost', async () => {
    const { proxy, client } = await proxied(commandClient);
    proxy.loseReplyTo('ping');
    expect(isNeverSent(await client.ping().catch((error: unknown) => error))).toBe(false);
    expect(isNeverSent(await client.ping().catch((error: unknown) => error))).toBe(true);
  });
});

describe('a subscriber that is closed while it subscribes again', () => {
  it('leaves no rejection that nobody handles', async () => {
    const { redis, proxy, client } = await proxied(subscriberClient);
    await client.subscribe(`${redis.prefix}:news`);
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', onUnhandled);
    try {
      const again = new Promise<void>((resolve) => client.once('ready', () => setImmediate(resolve)));
      proxy.cut();
      await within(again);
      const ended = new Promise((resolve) => client.once('end', resolve));
      client.disconnect();
      await within(ended);
      // A rejection is reported once the tasks of its turn are done.
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', onUnhandled);
    }
  });
});

describe('any client', () => {
  it('logs an outage once, not once per attempt, without the password', async () => {
    const redis = await ownRedis();
    const url = redis.url.replace('redis://', 'redis://:hunter2hunter2@');
    const { client, lines } = await ready(queueClient, url);
    let attempts = 0;
    client.on('error', () => (attempts += 1));
    await redis.kill();
    await eventually(() => attempts >= 4);
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'warn',
      msg: 'redis connection failed',
      redisRole: 'sluice-queue',
    });
    expect(lines.join('')).not.toContain('hunter2');
  });

  it('leaves it to the start of a process to say that the first connection fails', async () => {
    const { client, lines } = open(queueClient, `redis://127.0.0.1:${await freePort()}`);
    let attempts = 0;
    client.on('error', () => (attempts += 1));
    await eventually(() => attempts >= 3);
    expect(lines).toEqual([]);
  });

  it('closes within its time in every state, and twice', async () => {
    const redis = await ownRedis();
    const connected = await ready(queueClient, redis.url);
    const connecting = open(queueClient, redis.url);
    const away = open(queueClient, `redis://127.0.0.1:${await freePort()}`);
    await eventually(() => away.client.status === 'reconnecting');
    const waiting = expect(away.client.ping()).rejects.toThrow();
    const clients = [connected, connecting, away].map(({ client }) => client);
    const closing = Promise.all(clients.map((client) => closeRedis(client)));
    await within(closing);
    await waiting;
    await Promise.all(clients.map((client) => closeRedis(client)));
    expect(clients.map(({ status }) => status)).toEqual(['end', 'end', 'end']);
  });

  it('closes while Redis is frozen', async () => {
    const redis = await ownRedis();
    const { client } = await ready(queueClient, redis.url);
    freeze(redis);
    const command = expect(within(client.ping())).rejects.toThrow();
    await within(closeRedis(client, 200));
    await command;
  });

  it('ends a wait for Redis with the reason of the signal, or when it is closed', async () => {
    const { client } = open(commandClient, `redis://127.0.0.1:${await freePort()}`);
    const reason = new Error('stopping');
    await expect(waitForRedis(client, AbortSignal.abort(reason))).rejects.toBe(reason);
    const waiting = waitForRedis(client, new AbortController().signal);
    await Promise.all([closeRedis(client), expect(waiting).rejects.toThrow('closed')]);
  });
});

describe('inspection', () => {
  it('reads what a real server says', async () => {
    const { client } = await ready(commandClient, inject('redisUrl'));
    const facts = await inspectRedis(client);
    expect(facts).toMatchObject({ role: 'master', isCluster: false, isConfigForbidden: false });
    expect(facts.version).toMatch(/^\d+\.\d+/);
    expect(facts.maxmemoryPolicy).toBeTypeOf('string');
    expect(facts.appendOnly).toBeTypeOf('boolean');
    expect(Math.abs(facts.clockOffsetMs)).toBeLessThan(60_000);
  });

  it('notices that CONFIG is forbidden', async () => {
    const redis = await ownRedis();
    const admin = await ready(commandClient, redis.url);
    await admin.client.acl('SETUSER', 'limited', 'on', '>secret', '~*', '+@all', '-config');
    const { client } = await ready(commandClient, redis.url.replace('//', '//limited:secret@'));
    expect(await inspectRedis(client)).toMatchObject({
      isConfigForbidden: true,
      maxmemoryPolicy: 'noeviction',
      appendFsync: undefined,
    });
  });
});

describe('redis clock', () => {
  /** Half of the way to Redis and back, on a busy machine, in milliseconds. */
  const errorMs = 1_000;

  it('agrees with Redis and survives its absence', async () => {
    const redis = await ownRedis();
    const begunAt = Date.now();
    const { client } = open(commandClient, redis.url);
    const clock = new RedisClock({ client, logger: createLogger({ name: 'test', level: 'silent' }) });
    await clock.start();
    await eventually(() => clock.isSynchronized);
    await redis.kill();
    await clock.sample();
    expect(clock.now()).toBeGreaterThan(begunAt - errorMs);
    expect(clock.now()).toBeLessThan(Date.now() + errorMs);
    clock.stop();
  });
});
