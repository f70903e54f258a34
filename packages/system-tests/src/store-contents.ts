import type { TestRedis } from '@sluice/testing';

/** Every key of a service with its content as text, to see what was written and what is left. */
export async function storeContents(redis: TestRedis): Promise<Map<string, string>> {
  const { client, prefix } = redis;
  const contents = new Map<string, string>();
  for await (const found of client.scanStream({ match: `${prefix}*`, count: 1_000 })) {
    // Each element of the stream is one reply of SCAN, an array that may name a key twice.
    await Promise.all(
      (found as string[]).map(async (key) => contents.set(key, JSON.stringify(await read(redis, key)))),
    );
  }
  return contents;
}

/**
 * Whether a service writes the key without any request, or after it: leases, locks, the timers of BullMQ, what processes say of
 * themselves and of the cells that they reach, what is kept for the console, and what is told of ends.
 */
export function isHousekeeping(key: string): boolean {
  return /:(api:[0-9a-f-]{36}|rescuer:[^:]+|stalled(-check)?|forgotten-jobs:.+|process(es|es:heard|es:wills|:[^:]+)|store-mark:.+|stats:.+|cells|cell-processes|journal|outbox(:[^:]+)*)$/.test(
    key,
  );
}

/** The differences between two looks, without housekeeping. */
export function writtenBetween(before: Map<string, string>, after: Map<string, string>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (key) => !isHousekeeping(key) && before.get(key) !== after.get(key),
  );
}

async function read({ client }: TestRedis, key: string): Promise<unknown> {
  switch (await client.type(key)) {
    case 'string':
      return client.get(key);
    case 'hash':
      // A hash that grew is rehashed step by step, with each command that touches it.
      return Object.entries(await client.hgetall(key)).toSorted(([one], [other]) => (one < other ? -1 : 1));
    case 'list':
      return client.lrange(key, '0', '-1');
    case 'set':
      return (await client.smembers(key)).toSorted();
    case 'zset':
      return client.zrange(key, '0', '-1', 'WITHSCORES');
    case 'stream':
      return client.xrange(key, '-', '+');
    default:
      return undefined; // The key is gone since it was found.
  }
}
