import { createLogger } from '@sluice/runtime';
import { eventually, hasServer, latch, type LocalRedis, startLocalRedis } from '@sluice/testing';
import { type ScriptedWorker, startScriptedWorker } from '@sluice/worker/scripted-worker';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiProcess } from '../src/api-process.ts';
import { apiKeys, model, testSettings } from './test-api.ts';

describe.skipIf(!hasServer)(
  'an api that tells nobody of what no replica has (needs a server on the PATH)',
  () => {
    let primary: LocalRedis;
    let replica: LocalRedis;
    let standby: Redis;
    let url: string;
    const cleanups: (() => Promise<unknown>)[] = [];

    beforeEach(async () => {
      primary = await startLocalRedis({ kind: 'server' });
      cleanups.push(() => primary.stop());
      replica = await startLocalRedis({ kind: 'server' });
      cleanups.push(() => replica.stop());
      // A primary waits for further replicas before it sends its data, unless it is told not to.
      const operator = new Redis(primary.url, { protocol: 2 });
      await operator.config('SET', 'repl-diskless-sync-delay', '0');
      operator.disconnect();
      standby = new Redis(replica.url, { protocol: 2 });
      cleanups.push(async () => standby.disconnect());
      await standby.replicaof('127.0.0.1', primary.port);
      await eventually(async () => (await standby.info('replication')).includes('master_link_status:up'));
      await startApi();
    });
    afterEach(async () => {
      for (const clean of cleanups.splice(0).toReversed()) await clean();
    });

    async function startApi(): Promise<void> {
      const ready = latch<string>();
      const settings = testSettings(primary.url, 'test:', {});
      const { timeouts } = settings;
      const api = new ApiProcess({
        settings: {
          ...settings,
          redisUrl: primary.url,
          durability: 'replica',
          timeouts: { ...timeouts, durabilityMs: 500 },
        },
        logger: createLogger({ name: 'api', level: 'silent' }),
        onReady: (listening) => ready.open(listening.url),
      });
      cleanups.push(() => api.stop('requested'));
      await api.start(new AbortController().signal);
      url = await ready.wait();
    }

    async function startWorker(): Promise<ScriptedWorker> {
      const worker = await startScriptedWorker({
        redisUrl: primary.url,
        keyPrefix: 'test:',
        models: [model],
      });
      cleanups.push(() => worker.stop());
      return worker;
    }

    const headers = { authorization: `Bearer ${apiKeys.first}`, 'content-type': 'application/json' };
    const create = (more: object = {}) =>
      fetch(`${url}/v1/responses`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model, input: 'Hi', ...more }),
      });
    const freeze = () => process.kill(replica.pid, 'SIGSTOP');
    const thaw = () => process.kill(replica.pid, 'SIGCONT');

    it('answers as ever while the replica follows', async () => {
      await startWorker();
      const answers = await Promise.all(Array.from({ length: 20 }, () => create()));
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
      const stream = await create({ stream: true });
      expect(await stream.text()).toContain('response.completed');
    });

    it('refuses what the replica does not have in time, and runs none of it', async () => {
      const worker = await startWorker();
      freeze();
      const refused = await Promise.all([create(), create({ background: true }), create({ stream: true })]);
      thaw();
      for (const answer of refused) {
        expect(answer.status).toBe(503);
        expect(await answer.json()).toMatchObject({ error: { code: 'server_is_overloaded' } });
      }
      expect(worker.runs).toEqual([]);
      await eventually(async () => (await create()).status === 200);
      expect(worker.runs).toHaveLength(1);
    });

    it('keeps an end to itself that the replica does not have', async () => {
      const worker = await startWorker();
      const goOn = latch();
      worker.onRun(async (run) => {
        await goOn.wait();
        await run.complete();
      });
      const whole = create();
      const stream = await create({ stream: true });
      const text = stream.text();
      await eventually(() => worker.runs.length === 2);
      freeze();
      goOn.open();
      expect((await whole).status).toBe(503);
      await expect(text).rejects.toThrow();
      thaw();
      for (const { record } of worker.runs) {
        await eventually(async () => {
          const answer = await fetch(`${url}/v1/responses/${record.id}`, { headers });
          return (
            answer.status === 200 && ((await answer.json()) as { status: string }).status === 'completed'
          );
        });
      }
    });

    it('loses nothing that it accepted when the primary dies', async () => {
      // The replica was frozen a moment ago, and one that lags has requests refused.
      await eventually(async () => (await create({ background: true })).status === 200);
      const answers = await Promise.all(Array.from({ length: 30 }, () => create({ background: true })));
      const accepted = answers.filter(({ status }) => status === 200);
      expect(accepted).not.toEqual([]);
      const created = await Promise.all(
        accepted.map(async (answer) => ((await answer.json()) as { id: string }).id),
      );
      await primary.kill();
      await standby.replicaof('no', 'one');
      const kept = await Promise.all(
        created.flatMap((id) => [
          standby.exists(`test:{0}:response:${id}`),
          standby.exists(`test:{0}:bull:${model}:${id}`),
        ]),
      );
      expect(kept).toEqual(created.flatMap(() => [1, 1]));
    });
  },
);
