import { forAllTests, eventually, startLocalRedis, startRedisProxy } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasPagePrograms, openPageShell } from './operating-page.ts';
import { testService } from './service.ts';

const slots = 4;

describe.skipIf(!hasPagePrograms)('a primary that dies (needs Redis on the PATH)', () => {
  const shell = forAllTests(openPageShell);
  const primary = forAllTests(() => startLocalRedis({ kind: 'server' }));
  const replica = forAllTests(() => startLocalRedis({ kind: 'server' }));
  const proxy = forAllTests(() => startRedisProxy(primary.url));
  beforeAll(async () => {
    await shell.run('Add a replica', {
      REPLICA_URL: replica.url,
      PRIMARY_HOST: '127.0.0.1',
      PRIMARY_PORT: String(primary.port),
    });
  });
  const service = testService(() => ({
    redisUrl: primary.url,
    redisUrlOfProcesses: proxy.url,
    settings: { workerConcurrency: slots },
  }));

  it('costs nothing that its replica has, once that is promoted at the same address', async () => {
    const { caller } = service;
    const stored = await caller.create({ input: 'Keep this.' });
    const answers = await Promise.all(
      Array.from({ length: slots * 2 }, (_, at) =>
        caller.create({
          input: `Talk about topic-${at}. [[sluice: tokens=20 tokens_per_second=10]]`,
          background: true,
        }),
      ),
    );
    const ids = answers.map(({ body }) => body.id);
    const statuses = () => Promise.all(ids.map(async (id) => (await caller.get(id)).body.status));
    const running = async () => (await statuses()).filter((status) => status === 'in_progress').length;
    await eventually(async () => (await running()) === slots);
    expect(await service.redis.client.wait(1, 5_000)).toBe(1);

    await primary.kill();
    expect((await caller.create({ input: 'Refused.' })).status).toBe(503);
    await shell.run('Promote it', { REPLICA_URL: replica.url });
    proxy.leadTo(replica.url);

    await eventually(async () => (await caller.create({ input: 'After.' })).status === 200);
    await eventually(async () => (await statuses()).every((status) => status === 'completed'));
    for (const [at, id] of ids.entries()) {
      const { body } = await caller.get(id);
      expect(body.output_text).toContain(`topic-${at}`);
    }
    expect((await caller.get(stored.body.id)).body).toEqual(stored.body);
  });
});
