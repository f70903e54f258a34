import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { inject } from 'vitest';
// For the type of `redisUrl`.
import type {} from './redis-for-the-run.ts';

/** The access of one test to a Redis that it shares with others. */
export interface TestRedis {
  url: string;
  /** Prefix of every key, queue and channel of the test. Letters and digits only. */
  prefix: string;
  client: Redis;
  /** Opens another connection, for blocking commands and subscriptions. `close` ends it, too. */
  connect: () => Redis;
  /** Deletes the keys with the prefix and ends every connection. May be called twice. */
  close: () => Promise<void>;
}

/**
 * Connects to the Redis of the run, or to the one at `url`. Tests share one server and run in parallel, so a test must
 * touch only keys with its prefix.
 */
export async function testRedis(url: string = inject('redisUrl')): Promise<TestRedis> {
  if (url === undefined) throw new Error('there is no Redis for this project: move the test to test/');
  const prefix = `test${randomBytes(8).toString('hex')}`;
  const clients: Redis[] = [];
  const connect = () => {
    // BullMQ requires the first option for its workers. The time-out of the test bounds every wait.
    const client = new Redis(url, { maxRetriesPerRequest: null, protocol: 2 });
    // Tests that kill their Redis expect errors. In other tests a command reports them.
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  };
  const client = connect();
  await client.ping();
  let closing: Promise<void> | undefined;
  const close = async () => {
    if (client.status === 'ready') await Promise.race([deleteKeys(client, prefix), isCut(client)]);
    await Promise.all(clients.map(end));
  };
  return { url, prefix, client, connect, close: () => (closing ??= close()) };
}

async function deleteKeys(client: Redis, prefix: string): Promise<void> {
  // The prefix may stand behind another word: BullMQ without a prefix of its own puts one first.
  for await (const keys of client.scanStream({ match: `*${prefix}*`, count: 1000 })) {
    // Each element of the stream is one reply of SCAN, an array.
    const found = keys as string[];
    if (found.length > 0) await client.unlink(...found);
  }
}

/** Resolves when a connection is lost. A Redis that has gone meanwhile would have its commands wait for ever. */
function isCut(client: Redis): Promise<void> {
  return new Promise((resolve) => {
    client.once('close', () => resolve());
  });
}

/** Cuts a connection. No command of the test may be in flight by now. */
function end(client: Redis): Promise<void> {
  if (client.status === 'end') return Promise.resolve();
  // Between two attempts to reconnect there is no socket to cut.
  if (client.status === 'reconnecting') client.connect().catch(() => undefined);
  const ended = new Promise<void>((resolve) => {
    client.once('end', () => resolve());
  });
  client.disconnect();
  return ended;
}
