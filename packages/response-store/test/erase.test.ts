import { forEachTest, startLocalRedis } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { oneServer, storeForEachTest } from './store-under-test.ts';

// The memory of the server is what is short, so nobody else uses it.
const own = forEachTest(startLocalRedis);
const store = storeForEachTest(() => oneServer(own.url));

describe('a store without memory', () => {
  it('takes a deletion, which makes room', async () => {
    const [ended, queued, running] = [
      await store.ended({ text: 'x'.repeat(100_000) }),
      await store.accepted({ tenant: 'team-b' }),
      await store.running('a', { tenant: 'team-c' }),
    ];
    await store.server.client.config('SET', 'maxmemory', '1');
    await expect(store.server.client.set('any', '1')).rejects.toThrow('OOM');
    await store.caller.erase(ended, 'team-a');
    await store.caller.erase(queued, 'team-b');
    await store.caller.erase(running, 'team-c');
    for (const id of [ended, queued, running]) expect(await store.caller.read(id)).toBeUndefined();
    // What it counted for its tenant is given back as well.
    await store.server.client.config('SET', 'maxmemory', '0');
    const counts = await store.server.client.hgetall(store.keys.load);
    expect(Object.entries(counts).filter(([, count]) => Number(count) !== 0)).toEqual([]);
  });
});
