import { eventually, isServerAtLeast, type LocalRedis, startLocalRedis } from '@sluice/testing';
import { Redis } from 'ioredis';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  acceptedIds,
  type DurableApi,
  expectAnswers,
  expectRefusals,
  keysOf,
  startDurableApi,
} from './durable-api.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

describe.skipIf(!isServerAtLeast(7, 2))(
  'an api that tells nobody of what is not on the disk (needs Redis 7.2 or Valkey on the PATH)',
  () => {
    let directory: string;
    let redis: LocalRedis;
    let operator: Redis;

    beforeEach(async () => {
      directory = await mkdtemp(join(tmpdir(), 'sluice-fsync-'));
      cleanups.push(() => rm(directory, { recursive: true, force: true }));
      await startRedis();
    });

    async function startRedis(port = 0): Promise<void> {
      const started = await startLocalRedis({ kind: 'server', directory, port });
      redis = started;
      const client = new Redis(redis.url, { protocol: 2 });
      operator = client;
      cleanups.push(
        () => started.stop(),
        async () => client.disconnect(),
      );
    }

    async function startApi(): Promise<DurableApi> {
      const api = await startDurableApi(redis, 'fsync', 2_000);
      cleanups.push(() => api.stop());
      return api;
    }

    /** From now on the server leaves it to the system when its log gets to the disk, and promises nothing. */
    const neverSync = () => operator.config('SET', 'appendfsync', 'no');
    const syncEverySecond = () => operator.config('SET', 'appendfsync', 'everysec');

    it('answers as ever while the log gets there', async () => expectAnswers(await startApi()));

    it('refuses what is not there in time, and runs none of it', async () =>
      expectRefusals(await startApi(), { begin: neverSync, end: syncEverySecond }));

    it('keeps an end to itself that is not there', async () => {
      const api = await startApi();
      const worker = await api.startWorker();
      const { goOn } = worker.hold();
      const whole = api.create();
      await eventually(() => worker.runs.length === 1);
      await neverSync();
      goOn.open();
      expect((await whole).status).toBe(503);
    });

    it('has everything that it accepted when the server was killed and is back', async () => {
      const api = await startApi();
      const created = await acceptedIds(
        await Promise.all(Array.from({ length: 30 }, () => api.create({ background: true }))),
      );
      expect(created).toHaveLength(30);
      operator.disconnect();
      await redis.kill();
      await startRedis(redis.port);
      const kept = await Promise.all(created.flatMap(keysOf).map((key) => operator.exists(key)));
      expect(kept).toEqual(kept.map(() => 1));
    });

    it('does not start where the log never gets there', async () => {
      await neverSync();
      await expect(startApi()).rejects.toThrow(/set appendfsync to everysec/);
    });
  },
);
