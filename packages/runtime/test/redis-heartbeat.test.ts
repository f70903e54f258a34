import {
  eventually,
  forEachTest,
  latch,
  startLocalRedis,
  startRedisProxy,
  testRedis,
  within,
} from '@sluice/testing';
import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  closeRedis,
  commandClient,
  createLogger,
  queueClient,
  subscriberClient,
  waitForRedis,
  writerClient,
} from '../src/index.ts';

/** How often a connection is looked at, and after how many silent looks it counts as dead. */
const lookEveryMs = 500;
const deadAfterLooks = 7;

const logger = createLogger({ name: 'test', level: 'silent' });
const redis = forEachTest(testRedis);
const proxy = forEachTest(() => startRedisProxy(redis.url));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

async function ready(role: typeof commandClient, url = proxy.url): Promise<Redis> {
  const client = role(url, { logger });
  onTestFinished(() => closeRedis(client));
  await waitForRedis(client, AbortSignal.timeout(10_000));
  return client;
}

/** Lets the time of so many looks pass, without a byte in between. */
function look(times: number): void {
  vi.advanceTimersByTime(times * lookEveryMs);
}

/** Every client loses its connection once it has been silent for long enough, and none before. */
async function expectLost(clients: readonly Pick<Redis, 'once'>[]): Promise<void> {
  let lost = 0;
  for (const client of clients) client.once('close', () => (lost += 1));
  // The first look finds what came before the path was lost.
  look(deadAfterLooks - 1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(lost).toBe(0);
  // A reply that was on its way is found by one of these, and the silence begins behind it.
  await eventually(() => {
    look(1);
    return lost === clients.length;
  });
}

/**
 * Makes the path usable again, and waits until every client is back on it. One that has connected again in the meantime did so
 * over the lost path, so the looks go on until that connection, too, has been given up.
 */
async function restorePath(clients: readonly Pick<Redis, 'status'>[]): Promise<void> {
  proxy.restorePath();
  await eventually(() => {
    look(1);
    return clients.every(({ status }) => status === 'ready');
  });
}

describe('a path that is lost without a word', () => {
  it('is noticed by every idle connection, and left for a new one', async () => {
    const clients = {
      commands: await ready(commandClient),
      writer: await ready(writerClient),
      queue: await ready(queueClient),
      subscriber: await ready(subscriberClient),
    };
    await clients.subscriber.subscribe(`${redis.prefix}:news`);
    const heard = latch<string>();
    clients.subscriber.on('message', (_channel, message) => heard.open(message));

    proxy.losePath();
    await expectLost(Object.values(clients));

    await restorePath(Object.values(clients));
    const { commands, writer, queue } = clients;
    await eventually(async () => (await commands.ping()) === 'PONG');
    await eventually(async () => (await writer.ping()) === 'PONG');
    await within(queue.ping());
    // The server still counts the dead subscription, so its count says nothing.
    await eventually(async () => {
      await redis.client.publish(`${redis.prefix}:news`, 'back');
      return heard.isOpen;
    });
  });

  it('does not keep a BullMQ worker from its jobs once it is back', async () => {
    const client = await ready(queueClient);
    const done: string[] = [];
    const worker = new Worker('lost', ({ id }) => Promise.resolve(void done.push(id ?? '')), {
      connection: client,
      prefix: redis.prefix,
      drainDelay: 1,
    });
    worker.on('error', () => undefined);
    onTestFinished(() => worker.close());
    const queue = new Queue('lost', { connection: redis.client, prefix: redis.prefix });
    onTestFinished(() => queue.close());
    await queue.add('job', {}, { jobId: 'before' });
    await eventually(() => done.includes('before'));
    // BullMQ's own description of a client leaves out that it emits events.
    const blocking = (await worker.backend.blockingConnection?.client) as unknown as Redis;

    proxy.losePath();
    await expectLost([client, blocking]);
    await queue.add('job', {}, { jobId: 'meanwhile' });
    await restorePath([client, blocking]);
    await eventually(() => done.includes('meanwhile'));
  });
});

describe('a connection that Redis keeps waiting', () => {
  it('is kept while Redis answers nobody for two and a half seconds', async () => {
    const own = await startLocalRedis();
    onTestFinished(() => own.stop());
    const clients = [
      await ready(commandClient, own.url),
      await ready(queueClient, own.url),
      await ready(subscriberClient, own.url),
    ];
    let lost = 0;
    for (const client of clients) client.on('close', () => (lost += 1));
    // As a script does that takes so long.
    process.kill(own.pid, 'SIGSTOP');
    look(5);
    process.kill(own.pid, 'SIGCONT');
    // A command client sends nothing more until it has heard of Redis again.
    for (const client of clients.slice(0, 2)) await eventually(async () => (await client.ping()) === 'PONG');
    expect(lost).toBe(0);
  });
});
