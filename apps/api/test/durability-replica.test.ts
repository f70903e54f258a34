import { eventually, hasServer, type LocalRedis, startLocalRedis } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  acceptedIds,
  acceptedOnce,
  type DurableApi,
  expectAnswers,
  expectRefusals,
  headers,
  keysOf,
  startDurableApi,
} from './durable-api.ts';

describe.skipIf(!hasServer)(
  'an api that tells nobody of what no replica has (needs a server on the PATH)',
  () => {
    let primary: LocalRedis;
    let replica: LocalRedis;
    let standby: Redis;
    let api: DurableApi;
    const cleanups: (() => Promise<unknown>)[] = [];

    beforeEach(async () => {
      primary = await startLocalRedis({ kind: 'server' });
      cleanups.push(() => primary.stop());
      replica = await startLocalRedis({ kind: 'server' });
      cleanups.push(() => replica.stop());
      // A primary waits for further replicas before it sends its data, unless it is told not to.
      const operator = new Redis(primary.url, { protocol: 2 });
      await operator.config('SET', 'repl-diskless-sync-delay', '0');
      standby = new Redis(replica.url, { protocol: 2 });
      cleanups.push(async () => standby.disconnect());
      await standby.replicaof('127.0.0.1', primary.port);
      // The link may be up for a second before the replica tells what it has.
      await eventually(async () => {
        await operator.set('seen', '1');
        return (await operator.wait(1, 100)) >= 1;
      });
      operator.disconnect();
      api = await startDurableApi(primary, 'replica', 1_500);
      cleanups.push(() => api.stop());
    });
    afterEach(async () => {
      for (const clean of cleanups.splice(0).toReversed()) await clean();
    });

    const freeze = () => process.kill(replica.pid, 'SIGSTOP');
    const thaw = () => process.kill(replica.pid, 'SIGCONT');

    it('answers as ever while the replica follows', () => expectAnswers(api));

    it('refuses what the replica does not have in time, and runs none of it', () =>
      expectRefusals(api, { begin: freeze, end: thaw }));

    it('keeps an end to itself that the replica does not have', async () => {
      const worker = await api.startWorker();
      const { goOn } = worker.hold();
      const whole = api.create();
      const stream = await api.create({ stream: true });
      const text = stream.text();
      await eventually(() => worker.runs.length === 2);
      freeze();
      goOn.open();
      expect((await whole).status).toBe(503);
      await expect(text).rejects.toThrow();
      thaw();
      for (const { record } of worker.runs) {
        await eventually(async () => {
          const answer = await fetch(`${api.url}/v1/responses/${record.id}`, { headers });
          return (
            answer.status === 200 && ((await answer.json()) as { status: string }).status === 'completed'
          );
        });
      }
    });

    it('says of no response that it is deleted, or was, while the replica still has it', async () => {
      const { id } = await acceptedOnce(api);
      const { authorization } = headers;
      const erase = () =>
        fetch(`${api.url}/v1/responses/${id}`, { method: 'DELETE', headers: { authorization } });
      freeze();
      expect((await erase()).status).toBe(503);
      expect((await erase()).status).toBe(503);
      thaw();
      await eventually(async () => (await erase()).status === 404);
    });

    it('loses nothing that it accepted when the primary dies', async () => {
      await acceptedOnce(api);
      const answers = await Promise.all(Array.from({ length: 30 }, () => api.create({ background: true })));
      const created = await acceptedIds(answers);
      expect(created).not.toEqual([]);
      await primary.kill();
      await standby.replicaof('no', 'one');
      const kept = await Promise.all(created.flatMap(keysOf).map((key) => standby.exists(key)));
      expect(kept).toEqual(kept.map(() => 1));
    });
  },
);
