import { spawn } from 'node:child_process';
import {
  eventually,
  hasServer,
  type LocalRedis,
  type RedisProxy,
  serverOnPath,
  startLocalRedis,
  startRedisProxy,
  within,
} from '@sluice/testing';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  awaitRedis,
  closeRedis,
  commandClient,
  createLogger,
  FatalError,
  queueClient,
  RedisWatch,
  subscriberClient,
} from '../src/index.ts';

interface LogLine {
  level: string;
  msg: string;
  redisRole?: string;
  err?: { message: string };
}

let lines: LogLine[];
const logger = createLogger({
  name: 'test',
  level: 'info',
  // A line of the log is of this shape.
  destination: { write: (line: string) => lines.push(JSON.parse(line) as LogLine) },
});

beforeEach(() => {
  lines = [];
});

async function ownRedis(options: { port?: number; directory?: string } = {}): Promise<LocalRedis> {
  const redis = await startLocalRedis({ ...options, ...(hasServer && { kind: 'server' }) });
  onTestFinished(() => redis.stop());
  return redis;
}

function client(role: typeof commandClient, url: string): Redis {
  const made = role(url, { logger });
  onTestFinished(() => closeRedis(made));
  return made;
}

/** Waits for a Redis as a process does that starts. */
function awaited(url: string, commands = client(commandClient, url)) {
  return awaitRedis(commands, { url, logger, signal: new AbortController().signal });
}

/** A process's connections through a proxy, their watch, and a connection of the operator. */
async function watched(redis: LocalRedis) {
  const proxy: RedisProxy = await startRedisProxy(redis.url);
  onTestFinished(() => proxy.stop());
  const commands = client(commandClient, proxy.url);
  const others = [client(queueClient, proxy.url), client(subscriberClient, proxy.url)] as const;
  await others[1].subscribe('news');
  const watch = new RedisWatch({ url: proxy.url, commands, others, probeKey: 'probe', logger });
  onTestFinished(() => watch.stop());
  await watch.start(new AbortController().signal);
  await eventually(() => watch.isReady());
  return {
    proxy,
    commands,
    queue: others[0],
    subscriber: others[1],
    watch,
    operator: client(queueClient, redis.url),
  };
}

const said = (message: RegExp) => lines.filter(({ msg }) => message.test(msg));

describe('a Redis that answers and takes no writes', () => {
  it('makes the process not ready, which says why, until it takes them again', async () => {
    const { watch, operator } = await watched(await ownRedis());
    expect(watch.isWell).toBe(true);
    await operator.config('SET', 'min-replicas-to-write', '1');
    expect(await watch.isReady()).toBe(false);
    expect(watch.isWell).toBe(false);
    expect(said(/takes no writes/)).toMatchObject([
      { err: { message: expect.stringContaining('NOREPLICAS') } },
    ]);
    await operator.config('SET', 'min-replicas-to-write', '0');
    expect(await watch.isReady()).toBe(true);
    expect(watch.isWell).toBe(true);
    expect(said(/takes writes again/)).toHaveLength(1);
    expect(await operator.exists('probe')).toBe(0);
  });
});

describe('a Redis that would now lose accepted work', () => {
  it('is found at the next connection, named once, and not used until it is mended', async () => {
    const { watch, commands, operator } = await watched(await ownRedis());
    await operator.config('SET', 'maxmemory-policy', 'allkeys-lru');
    for (let reconnects = 0; reconnects < 2; reconnects += 1) {
      const closed = new Promise((resolve) => commands.once('close', resolve));
      commands.disconnect(true);
      await closed;
      await eventually(async () => commands.status === 'ready' && !(await watch.isReady()));
      await eventually(() => said(/set maxmemory-policy to noeviction/).length > 0);
    }
    expect(said(/maxmemory-policy/)).toMatchObject([{ level: 'error' }]);
    expect(watch.isWell).toBe(false);
    expect(watch.problems.filter(({ severity }) => severity === 'refuse')).toHaveLength(1);
    await operator.config('SET', 'maxmemory-policy', 'noeviction');
    await eventually(() => watch.isReady());
  });
});

describe.skipIf(!hasServer)('a failover (needs a server on the PATH)', () => {
  it('is followed by connections that see no write fail', async () => {
    const [former, next] = [await ownRedis(), await ownRedis()];
    const { proxy, watch, commands, subscriber, operator } = await watched(former);
    await operator.replicaof('127.0.0.1', next.port);
    expect(await watch.isReady()).toBe(false);
    proxy.leadTo(next.url);
    await eventually(() => watch.isReady());
    const publisher = client(queueClient, next.url);
    await eventually(async () => (await publisher.publish('news', 'here')) === 1);
    expect(subscriber.status).toBe('ready');
    expect(await commands.info('replication')).toContain('role:master');
    expect(await operator.client('LIST')).not.toMatch(/name=sluice-(commands|subscriber)/);
  });

  it('loses no command of the queue', async () => {
    const [former, next] = [await ownRedis(), await ownRedis()];
    const { proxy, queue, operator } = await watched(former);
    await operator.replicaof('127.0.0.1', next.port);
    proxy.leadTo(next.url);
    expect(await within(queue.set('a', '1'))).toBe('OK');
    expect(await client(queueClient, next.url).get('a')).toBe('1');
  });
});

describe.skipIf(!hasServer)('a process that starts (needs a server on the PATH)', () => {
  it('waits while Redis is a replica, and says so', async () => {
    const redis = await ownRedis();
    const operator = client(queueClient, redis.url);
    await operator.replicaof('127.0.0.1', 1);
    const found = awaited(redis.url);
    await eventually(() => said(/waiting for redis/).length > 0);
    expect(said(/waiting for redis/)[0]?.err?.message).toContain('replica');
    // The operator's client would be refused now, had it to connect again.
    await operator.replicaof('no', 'one');
    await expect(within(found)).resolves.toMatchObject({ role: 'master' });
  });

  it('waits while Redis loads its data', async () => {
    const first = await startLocalRedis({ kind: 'server' });
    const { directory, port, pid } = first;
    onTestFinished(() => first.stop());
    const writer = client(queueClient, first.url);
    await writer.mset(Object.fromEntries(Array.from({ length: 800 }, (_, at) => [`key:${at}`, 'x'])));
    await writer.call('SAVE');
    process.kill(pid, 'SIGKILL');
    await first.exited;
    // Two milliseconds for each key.
    const place = ['--dir', directory, '--port', String(port), '--dbfilename', 'dump.rdb'];
    const flags = [...place, '--appendonly', 'no', '--key-load-delay', '2000', '--save', ''];
    const slow = spawn(serverOnPath() ?? '', flags, { stdio: 'ignore' });
    onTestFinished(() => void slow.kill('SIGKILL'));
    const commands = client(commandClient, first.url);
    await eventually(() => commands.status === 'connect');
    await expect(within(awaited(first.url, commands))).resolves.toMatchObject({ role: 'master' });
  });

  it('ends when its user may not do what it has to', async () => {
    const redis = await ownRedis();
    const rights = ['on', '>secret', '~*', '+@all', '-time'];
    await client(queueClient, redis.url).call('ACL', 'SETUSER', 'narrow', ...rights);
    const url = redis.url.replace('redis://', 'redis://narrow:secret@');
    const found = awaited(url);
    const error: unknown = await within(found).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(FatalError);
    expect(String(error)).toMatch(/refused the credentials: .*REDIS_URL/);
  });
});
