import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { startRedisProxy, testRedis } from '../src/index.ts';

it('refuses every connection until it is mended', async () => {
  const redis = await testRedis();
  const proxy = await startRedisProxy(redis.url);
  const client = new Redis(proxy.url, { protocol: 2, retryStrategy: () => null, lazyConnect: true });
  client.on('error', () => undefined); // A command reports it.
  try {
    await client.connect();
    await expect(client.ping()).resolves.toBe('PONG');
    const ended = new Promise((resolve) => client.once('end', resolve));
    proxy.refuse();
    await ended;
    await expect(client.connect()).rejects.toThrow();
    proxy.mend();
    await client.connect();
    await expect(client.ping()).resolves.toBe('PONG');
  } finally {
    client.disconnect();
    await proxy.stop();
    await redis.close();
  }
});
