import { eventually, hasServer, type LocalRedis, startLocalRedis } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { model, startTestApi, type TestApi } from './test-api.ts';

// Memory is counted by the server, so it has to be one that nobody else uses.
describe.skipIf(!hasServer)('a waiting response (needs a server on the PATH)', () => {
  let own: LocalRedis;
  let api: TestApi;

  beforeAll(async () => {
    own = await startLocalRedis();
    api = await startTestApi({ redisUrl: own.url, withoutWorker: true, queued: 100_000 });
  });
  afterAll(async () => {
    await api.stop();
    await own.stop();
  });

  const usedBytes = async () =>
    Number(/^used_memory:(\d+)/m.exec(await api.redis.client.info('memory'))?.[1]);

  async function add(count: number): Promise<void> {
    const body = { model, input: 'Tell me a short story about a fox.', background: true };
    for (let at = 0; at < count; at += 100) {
      // A machine that does much else may take too long for one, which is refused then and was not taken in.
      const one = () => eventually(async () => (await api.create(body)).status === 200);
      await Promise.all(Array.from({ length: 100 }, one));
    }
  }

  it('takes at most 2,500 bytes, however many there are', async () => {
    await add(500);
    let before = await usedBytes();
    for (const count of [500, 2_000]) {
      await add(count);
      const after = await usedBytes();
      expect((after - before) / count).toBeLessThanOrEqual(2_500);
      before = after;
    }
  });
});
