import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { eventually, testRedis, within, type TestRedis, temporaryFolder } from '@sluice/testing';
import { Queue, Worker } from 'bullmq';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { chooseStore, startStore, type RunningStore } from '../src/index.ts';

const SERVER_PATH = serverPath();
const LOCAL_KINDS = SERVER_PATH === undefined ? (['embedded'] as const) : (['server', 'embedded'] as const);

const FROM_SOURCE = ['--conditions=sluice-source'];

/** The folder of the PATH that has a server, if there is one. */
function serverPath(): string | undefined {
  const choice = chooseStore({ redisUrl: undefined, path: process.env['PATH'] });
  return choice.kind === 'server' ? dirname(choice.binary) : undefined;
}

function pathFor(kind: 'server' | 'embedded'): string {
  return kind === 'server' ? (SERVER_PATH ?? '') : '';
}

async function start(
  kind: 'server' | 'embedded',
  dataDir = temporaryFolder(),
  port = 0,
): Promise<RunningStore> {
  const store = await startStore({ dataDir, redisUrl: undefined, path: pathFor(kind), port });
  onTestFinished(() => store.stop());
  expect(store.kind).toBe(kind);
  return store;
}

async function user(url: string): Promise<TestRedis> {
  const redis = await testRedis(url);
  onTestFinished(() => redis.close());
  return redis;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== 'linux') return true;
  // A process that ended stays listed until somebody takes note, which may be nobody in a container.
  return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

describe.each(['the run', ...LOCAL_KINDS] as const)('the store of %s', (kind) => {
  let store: RunningStore;
  let dataDir: string;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'sluice-store-'));
    store = await startStore({
      dataDir,
      redisUrl: kind === 'the run' ? inject('redisUrl') : undefined,
      path: kind === 'the run' ? '' : pathFor(kind),
    });
  });

  afterAll(async () => {
    await store.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('runs scripts over hashes, sorted sets, streams and its own clock', async () => {
    const { client, prefix } = await user(store.url);
    const script = `
      local time = redis.call('TIME')
      redis.call('HSET', KEYS[1], 'status', ARGV[1], 'at', time[1])
      redis.call('ZADD', KEYS[2], tonumber(time[1]), KEYS[1])
      redis.call('XADD', KEYS[3], '1-0', 'event', ARGV[1])
      redis.call('XADD', KEYS[3], '2-0', 'event', ARGV[2])
      redis.call('PEXPIRE', KEYS[1], 60000)
      return redis.call('XRANGE', KEYS[3], '(1-0', '+')`;
    const keys = ['record', 'open', 'log'].map((name) => `${prefix}:${name}`);
    const reply = await client.eval(script, keys.length, ...keys, 'queued', 'in_progress');
    expect(reply).toEqual([['2-0', ['event', 'in_progress']]]);
    const [record = '', open = ''] = keys;
    const at = Number(await client.hget(record, 'at'));
    expect(Math.abs(at - Date.now() / 1000)).toBeLessThan(60);
    expect(await client.zscore(open, record)).toBe(String(at));
    expect(await client.pttl(record)).toBeGreaterThan(0);
    expect(await client.xread('COUNT', 1, 'STREAMS', keys[2] ?? '', '1-0')).not.toBeNull();
  });

  it('tells an error of a script from a broken store', async () => {
    const { client, prefix } = await user(store.url);
    const failing = client.eval("return redis.error_reply('REFUSED too late')", 0);
    await expect(failing).rejects.toThrow('REFUSED too late');
    await client.set(`${prefix}:text`, 'a');
    await expect(client.eval("redis.call('INCR', KEYS[1])", 1, `${prefix}:text`)).rejects.toThrow();
    const caught = await client.eval(
      "return redis.pcall('INCR', KEYS[1])['err'] ~= nil",
      1,
      `${prefix}:text`,
    );
    expect(caught).toBe(1);
    await expect(client.evalsha('0'.repeat(40), 0)).rejects.toThrow('NOSCRIPT');
  });

  it('publishes from a script to another connection', async () => {
    const { client, connect, prefix } = await user(store.url);
    const subscriber = connect();
    const received = new Promise((resolve) => subscriber.once('message', (_channel, text) => resolve(text)));
    await subscriber.subscribe(`${prefix}:channel`);
    const script = "return redis.call('PUBLISH', KEYS[1], ARGV[1])";
    expect(await client.eval(script, 1, `${prefix}:channel`, 'hello')).toBe(1);
    expect(await within(received)).toBe('hello');
  });

  it('answers lone commands without waiting for a timer', async () => {
    const { client } = await user(store.url);
    const pings = async () => {
      for (let count = 0; count < 400; count += 1) await client.ping();
    };
    // At one turn of a 50 ms timer for each it would take twenty seconds, which is more than any wait may.
    await within(pings());
  });

  it('takes and gives back a large value', async () => {
    const { client, prefix } = await user(store.url);
    const value = 'x'.repeat(3_000_000);
    await client.set(`${prefix}:large`, value);
    expect((await client.get(`${prefix}:large`)) === value).toBe(true);
  });

  it('expires keys that nobody reads', async () => {
    const { client, prefix } = await user(store.url);
    await client.set(`${prefix}:short`, '1', 'PX', 50);
    // Listed, not read: a read would expire it.
    const isListed = async () =>
      (await client.scan(0, 'MATCH', `${prefix}:short`, 'COUNT', 100_000))[1].length > 0;
    await eventually(async () => !(await isListed()));
  });

  it('runs BullMQ jobs in the order of their priority', async () => {
    const { client, connect, prefix } = await user(store.url);
    const queue = new Queue('jobs', { connection: client, prefix });
    await queue.add('late', {}, { jobId: 'job-late', priority: 20 });
    await queue.add('early', {}, { jobId: 'job-early', priority: 10 });
    const order: (string | undefined)[] = [];
    const worker = new Worker(
      'jobs',
      (job) => {
        order.push(job.id);
        return Promise.resolve();
      },
      { connection: connect(), prefix, drainDelay: 1 },
    );
    await eventually(() => order.length === 2);
    // A blocked worker is woken by a new job.
    await queue.add('next', {}, { jobId: 'job-next', priority: 10 });
    await eventually(() => order.length === 3);
    await worker.close();
    await queue.close();
    expect(order).toEqual(['job-early', 'job-late', 'job-next']);
  });
});

describe.each(LOCAL_KINDS)('a local store of kind %s', (kind) => {
  it('keeps everything over a clean stop', async () => {
    const dataDir = temporaryFolder();
    const first = await start(kind, dataDir);
    const { client } = await user(first.url);
    await client.set('kept', 'yes');
    await first.stop();
    expect(await first.exited).toEqual({ code: 0, signal: null });
    const second = await start(kind, dataDir);
    expect(await (await user(second.url)).client.get('kept')).toBe('yes');
  });

  it('refuses a directory that another one uses, and says which setting to change', async () => {
    const dataDir = temporaryFolder();
    const first = await start(kind, dataDir);
    const second = startStore({ dataDir, redisUrl: undefined, path: pathFor(kind) });
    await expect(second).rejects.toMatchObject({
      name: 'FatalError',
      message: expect.stringMatching(/in use by another Sluice .*DATA_DIR/),
    });
    expect(await (await user(first.url)).client.ping()).toBe('PONG');
  });

  it('does not start on a port that is taken', async () => {
    const blocker = createServer((socket) => socket.resume());
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => blocker[Symbol.asyncDispose]());
    const { port } = blocker.address() as AddressInfo; // A TCP server that listens has such an address.
    const store = startStore({
      dataDir: temporaryFolder(),
      redisUrl: undefined,
      path: pathFor(kind),
      port,
    });
    await expect(store).rejects.toMatchObject({ name: 'FatalError' });
  });

  it('goes on through Ctrl-C and ends when it is asked', async () => {
    const store = await start(kind);
    const { client } = await user(store.url);
    process.kill(pidOf(store), 'SIGINT');
    // The answer comes after the signal has been handled.
    expect(await client.ping()).toBe('PONG');
    expect(await client.ping()).toBe('PONG');
    await store.stop();
    await store.stop();
    expect(await store.exited).toEqual({ code: 0, signal: null });
  });

  it('saves and ends when its supervisor is killed', async () => {
    const dataDir = temporaryFolder();
    const supervisor = join(import.meta.dirname, 'processes', 'supervise-store.ts');
    const { stdout } = spawnSync(process.execPath, [...FROM_SOURCE, supervisor, dataDir, pathFor(kind)], {
      encoding: 'utf8',
      timeout: 20_000,
    });
    const { pid } = JSON.parse(stdout) as { pid: number }; // What that program prints.
    await eventually(() => !isRunning(pid));
    const store = await start(kind, dataDir);
    expect(await (await user(store.url)).client.get('written-before')).toBe('yes');
  });
});

describe('the embedded store', () => {
  it('takes connections for ever', async () => {
    const store = await start('embedded');
    const { port } = new URL(store.url);
    // More than it has numbers for.
    for (let left = 7_000; left > 0; left -= 100) {
      await Promise.all(
        Array.from({ length: 100 }, async () => {
          const socket = createConnection(Number(port), '127.0.0.1');
          await once(socket, 'connect');
          socket.end('PING\r\n');
          await once(socket.resume(), 'close');
        }),
      );
    }
    expect(await within((await user(store.url)).client.ping())).toBe('PONG');
  });

  it('keeps what was in its last snapshot over SIGKILL', async () => {
    const dataDir = temporaryFolder();
    const first = await start('embedded', dataDir);
    const { client } = await user(first.url);
    await client.set('kept', 'yes');
    await eventually(() => existsSync(join(dataDir, 'redis', 'embedded', 'dump.rdb')));
    process.kill(pidOf(first), 'SIGKILL');
    await within(first.exited);
    const second = await start('embedded', dataDir);
    expect(await (await user(second.url)).client.get('kept')).toBe('yes');
  });

  it('is not offered a broken snapshot as an empty one', async () => {
    const dataDir = temporaryFolder();
    const first = await start('embedded', dataDir);
    await (await user(first.url)).client.set('kept', 'yes');
    await first.stop();
    const file = join(dataDir, 'redis', 'embedded', 'dump.rdb');
    const snapshot = readFileSync(file);
    writeFileSync(file, snapshot.subarray(0, snapshot.length - 12));
    const second = startStore({ dataDir, redisUrl: undefined, path: '' });
    await expect(second).rejects.toThrow(/dump\.rdb is damaged/);
    expect(readFileSync(file)).toHaveLength(snapshot.length - 12);
  });
});

describe.runIf(SERVER_PATH !== undefined)('a server on the PATH', () => {
  it('keeps what it acknowledged over SIGKILL, which ends its store', async () => {
    const dataDir = temporaryFolder();
    const first = await start('server', dataDir);
    const { client } = await user(first.url);
    for (let count = 1; count <= 200; count += 1) await client.incr('count');
    process.kill(first.serverPid ?? 0, 'SIGKILL');
    expect(await within(first.exited)).toEqual({ code: 1, signal: null });
    const second = await start('server', dataDir);
    expect(await (await user(second.url)).client.get('count')).toBe('200');
  });

  it('does not outlive a store process that was killed', async () => {
    const store = await start('server');
    process.kill(pidOf(store), 'SIGKILL');
    await within(store.exited);
    await eventually(() => !isRunning(store.serverPid ?? 0));
  });

  it('is shut down by the next start when everything above it was killed', async () => {
    const dataDir = temporaryFolder();
    const supervisor = join(import.meta.dirname, 'processes', 'supervise-store.ts');
    const { stdout } = spawnSync(
      process.execPath,
      [...FROM_SOURCE, supervisor, dataDir, pathFor('server'), 'kill-store-first'],
      { encoding: 'utf8', timeout: 20_000 },
    );
    const { serverPid } = JSON.parse(stdout) as { serverPid: number }; // What that program prints.
    expect(isRunning(serverPid)).toBe(true);
    onTestFinished(() => {
      if (isRunning(serverPid)) process.kill(serverPid, 'SIGKILL');
    });
    const store = await start('server', dataDir);
    expect(isRunning(serverPid)).toBe(false);
    expect(await (await user(store.url)).client.get('written-before')).toBe('yes');
  });

  it('says what a server said that does not start', async () => {
    const folder = temporaryFolder();
    const fake = join(folder, 'valkey-server');
    writeFileSync(fake, '#!/bin/sh\necho "Fatal error: bad configuration" >&2\nexit 3\n');
    chmodSync(fake, 0o755);
    const store = startStore({ dataDir: folder, redisUrl: undefined, path: folder });
    await expect(store).rejects.toThrow(/valkey-server exited with code 3.*bad configuration/);
  });

  it('is found under the name of Valkey first', async () => {
    const folder = temporaryFolder();
    symlinkSync(join(SERVER_PATH ?? '', 'redis-server'), join(folder, 'valkey-server'));
    const path = [SERVER_PATH, folder].join(delimiter);
    const store = await startStore({ dataDir: folder, redisUrl: undefined, path });
    onTestFinished(() => store.stop());
    expect(store.why).toContain('valkey-server');
  });
});

function pidOf({ pid }: RunningStore): number {
  if (pid === undefined) throw new Error('the store has no process');
  return pid;
}
