import {
  eventually,
  hasServer,
  type LocalRedis,
  startLocalRedis,
  startRedisProxy,
  testRedis,
} from '@sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { startService } from './service.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function ownRedis(): Promise<LocalRedis> {
  const redis = await startLocalRedis({ kind: 'server' });
  cleanups.push(() => redis.stop());
  return redis;
}

const admin = async (redis: LocalRedis) => {
  const { client, close } = await testRedis(redis.url);
  cleanups.push(close);
  return client;
};

/** An api and a worker that reach their Redis through a proxy. */
async function serviceBehindProxy(redis: LocalRedis) {
  const proxy = await startRedisProxy(redis.url);
  cleanups.push(() => proxy.stop());
  const service = await startService({ redisUrl: redis.url, redisUrlOfProcesses: proxy.url });
  cleanups.push(() => service.stop());
  return { proxy, service, caller: service.caller };
}

const statusOf = async (url: string) => (await fetch(url)).status;

describe.skipIf(!hasServer)('a failover (needs a server on the PATH)', () => {
  it('is followed by every process, although no connection is cut', async () => {
    const [primary, replica] = [await ownRedis(), await ownRedis()];
    const next = await admin(replica);
    await next.replicaof('127.0.0.1', primary.port);
    const { proxy, service, caller } = await serviceBehindProxy(primary);
    const former = await admin(primary);
    // The keys of the test are deleted where it began.
    cleanups.push(() => former.replicaof('no', 'one'));
    await eventually(async () => (await next.info('replication')).includes('master_link_status:up'));
    const [api = '', worker = ''] = [service.apiUrls[0], service.workers[0]?.healthUrl];
    expect((await caller.create({ input: 'Before.' })).status).toBe(200);
    await former.wait(1, 5_000);

    await next.replicaof('no', 'one');
    await former.replicaof('127.0.0.1', String(replica.port));
    // The old primary is not ready to take work, although it answers.
    await eventually(async () => (await statusOf(`${api}/readyz`)) === 503);
    await eventually(async () => (await statusOf(`${worker}/readyz`)) === 503);
    proxy.leadTo(replica.url);
    const accepted = await eventually(async () => {
      const tried = await caller.create({ input: 'After.', background: true });
      return tried.status === 200 && tried;
    });
    await eventually(async () => (await caller.get(accepted.body.id)).body.status === 'completed');
    // A whole response needs the subscription of the api, and no connection is left behind.
    expect((await caller.create({ input: 'Again.' })).status).toBe(200);
    await eventually(async () => (await statusOf(`${api}/readyz`)) === 200);
    await eventually(async () => (await statusOf(`${worker}/readyz`)) === 200);
    await eventually(async () => !/name=sluice|name=\S*:bull:/.test(String(await former.client('LIST'))));
  });
});
