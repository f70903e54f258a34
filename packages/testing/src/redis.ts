import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { inject } from 'vitest';
// Brings the type of what is injected.
import type {} from './redis-for-the-run.ts';

/** What one test needs of a Redis that it shares with others. */
export interface TestRedis {
  url: string;
  /** Starts every key, queue and channel of the test; letters and digits only. */
  prefix: string;
  client: Redis;
  /** Another connection, for blocking commands and subscriptions; `close` ends it, too. */
  connect: () => Redis;
  /** Deletes the keys that start with the prefix and ends every connection. Twice is fine. */
  close: () => Promise<void>;
}

/**
 * Connects to the Redis of the run, or to the one at `url`. Tests run in parallel over one server, so a test touches
 * only keys that start with its prefix.
 */
export async function testRedis(url: string = inject('redisUrl')): Promise<TestRedis> {
  if (url === undefined) throw new Error('there is no Redis for this project: move the test to test/');
  const prefix = `test${randomBytes(8).toString('hex')}`;
  const clients: Redis[] = [];
  const connect = () => {
    // BullMQ demands the first for its workers; a wait is bounded by the test's own time-out.
    const client = new Redis(url, { maxRetriesPerRequest: null, protocol: 2 });
    // Expected in tests that kill their Redis; otherwise a command reports it.
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  };
  const client = connect();
  await client.ping();
  let closing: Promise<void> | undefined;
  const close = async () => {
    if (client.status === 'ready') await deleteKeys(client, prefix);
    await Promise.all(clients.map(end));
  };
  return { url, prefix, client, connect, close: () => (closing ??= close()) };
}

async function deleteKeys(client: Redis, prefix: string): Promise<void> {
  // Some packages put their own word first, as BullMQ does without a prefix of its own.
  for await (const keys of client.scanStream({ match: `*${prefix}*`, count: 1000 })) {
    // The stream yields the arrays of SCAN.
    const found = keys as string[];
    if (found.length > 0) await client.unlink(...found);
  }
}

/** By then nothing may be on the way, so the connection is cut rather than asked to end. */
function end(client: Redis): Promise<void> {
  if (client.status === 'end') return Promise.resolve();
  // Between two attempts there is no socket to cut.
  if (client.status === 'reconnecting') client.connect().catch(() => undefined);
  const ended = new Promise<void>((resolve) => {
    client.once('end', () => resolve());
  });
  client.disconnect();
  return ended;
}
