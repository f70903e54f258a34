import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  eventually,
  hasServer,
  type LocalRedis,
  type RedisProxy,
  startLocalRedis,
  startRedisProxy,
  testRedis,
  within,
} from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Caller, callerOf } from './caller.ts';
import { type Service, startService } from './service.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function ownRedis(): Promise<LocalRedis> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-path-'));
  cleanups.push(() => rm(directory, { recursive: true, force: true }));
  const redis = await startLocalRedis({ directory, ...(hasServer && { kind: 'server' }) });
  cleanups.push(() => redis.stop());
  return redis;
}

interface Behind {
  proxy: RedisProxy;
  service: Service;
  caller: Caller;
}

/** An api and a worker that reach their Redis through a proxy. */
async function serviceBehindProxy(redis: LocalRedis): Promise<Behind> {
  const proxy = await startRedisProxy(redis.url);
  cleanups.push(() => proxy.stop());
  const service = await startService({ redisUrl: redis.url, redisUrlOfProcesses: proxy.url });
  cleanups.push(() => service.stop());
  return { proxy, service, caller: callerOf(service.apiUrls[0] ?? '', service.key) };
}

const statusOf = async (url: string) => (await fetch(url)).status;

describe('a path to Redis that is lost without a word', () => {
  it('is noticed by every process, and both are back after it is', async () => {
    const { proxy, service, caller } = await serviceBehindProxy(await ownRedis());
    const [api = '', worker = ''] = [service.apiUrls[0], service.workers[0]?.healthUrl];
    expect((await caller.create({ input: 'Before.' })).status).toBe(200);
    expect(await statusOf(`${worker}/readyz`)).toBe(200);

    proxy.losePath();
    expect((await within(caller.create({ input: 'Refused.' }))).status).toBe(503);
    expect(await statusOf(`${api}/healthz`)).toBe(200);
    expect(await statusOf(`${api}/readyz`)).toBe(503);
    expect(await statusOf(`${worker}/readyz`)).toBe(503);
    const processes = [...service.apis, ...service.workers];
    await Promise.all(
      processes.map((each) =>
        eventually(() => each.logLines().some(({ msg }) => msg === 'redis connection failed')),
      ),
    );

    proxy.restorePath();
    await eventually(async () => (await caller.create({ input: 'After.' })).status === 200);
    await eventually(async () => (await statusOf(`${api}/readyz`)) === 200);
    await eventually(async () => (await statusOf(`${worker}/readyz`)) === 200);
  });
});

describe.skipIf(!hasServer)('a failover (needs a server on the PATH)', () => {
  let primary: LocalRedis;
  let replica: LocalRedis;
  let behind: Behind;

  const admin = async (redis: LocalRedis) => {
    const { client, close } = await testRedis(redis.url);
    cleanups.push(close);
    return client;
  };

  beforeEach(async () => {
    primary = await ownRedis();
    replica = await ownRedis();
    await (await admin(replica)).replicaof('127.0.0.1', primary.port);
    behind = await serviceBehindProxy(primary);
    // The keys of the test are deleted where it began.
    const former = await admin(primary);
    cleanups.push(() => former.replicaof('no', 'one'));
    const next = await admin(replica);
    await eventually(async () => (await next.info('replication')).includes('master_link_status:up'));
  });

  it('is followed by every process, although no connection is cut', async () => {
    const { proxy, service, caller } = behind;
    const [api = '', worker = ''] = [service.apiUrls[0], service.workers[0]?.healthUrl];
    const [former, next] = [await admin(primary), await admin(replica)];
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
