import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  eventually,
  freePort,
  type LocalRedis,
  type RedisProxy,
  startLocalRedis,
  startRedisProxy,
} from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Caller, callerOf } from './caller.ts';
import { hasPagePrograms, openPageShell, type PageShell } from './operating-page.ts';
import { type Service, startService } from './service.ts';

const accepted = 8;
/** Fewer than are accepted, so that some of them wait when the backup is made. */
const slots = 4;

describe.skipIf(!hasPagePrograms)('a backup of the store (needs Redis on the PATH)', () => {
  const cleanups: (() => Promise<unknown>)[] = [];
  let redis: LocalRedis;
  let proxy: RedisProxy;
  let shell: PageShell;
  let service: Service;

  beforeEach(async () => {
    shell = await openPageShell();
    cleanups.push(() => shell[Symbol.asyncDispose]());
    redis = await startLocalRedis({ kind: 'server' });
    cleanups.push(() => redis.stop());
    proxy = await startRedisProxy(redis.url);
    cleanups.push(() => proxy.stop());
    service = await startService({
      redisUrl: redis.url,
      redisUrlOfProcesses: proxy.url,
      settings: { workerConcurrency: slots, recovery: { lockMs: 3_000, stalledMs: 100 } },
    });
    cleanups.push(() => service.stop());
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  const backUp = () =>
    shell.run('Back up', { REDIS_URL: redis.url, BACKUP: join(shell.directory, 'backup.rdb') });

  /** Makes a server of the backup by the commands of the page, and leads the address of the store there. */
  async function restore(): Promise<void> {
    const directory = join(shell.directory, 'data');
    await mkdir(directory);
    const BACKUP = join(shell.directory, 'backup.rdb');
    const port = await freePort();
    await shell.run('Restore', { BACKUP, NEW_DATA: directory, NEW_PORT: String(port) });
    const restored = await startLocalRedis({ kind: 'server', directory, port });
    cleanups.splice(1, 0, () => restored.stop());
    proxy.leadTo(restored.url);
  }

  async function destroyStore(): Promise<void> {
    await redis.kill();
    await rm(redis.directory, { recursive: true, force: true });
  }

  /** Accepts responses in the background, and resolves with their ids when as many as there are slots run. */
  async function acceptWork(caller: Caller): Promise<string[]> {
    const answers = await Promise.all(
      Array.from({ length: accepted }, (_, at) =>
        caller.create({
          input: `Talk about topic-${at}. [[sluice: tokens=20 tokens_per_second=20]]`,
          background: true,
        }),
      ),
    );
    const ids = answers.map(({ body }) => body.id);
    await eventually(
      async () => (await statuses(caller, ids)).filter((each) => each === 'in_progress').length === slots,
    );
    return ids;
  }

  const statuses = (caller: Caller, ids: readonly string[]) =>
    Promise.all(ids.map(async (id) => (await caller.get(id)).body.status));

  async function endsWell(caller: Caller, ids: readonly string[]): Promise<void> {
    await eventually(async () => (await statuses(caller, ids)).every((each) => each === 'completed'));
    for (const [at, id] of ids.entries()) {
      expect((await caller.get(id)).body.output_text).toContain(`topic-${at}`);
    }
  }

  it('brings back in another server what was stored, waited and ran, and not what came later', async () => {
    const before = service.caller;
    const stored = await before.create({ input: 'Keep this.' });
    const deleted = await before.create({ input: 'Forget this.' });
    const ids = await acceptWork(before);
    await backUp();
    const late = await before.create({ input: 'Too late.', background: true });
    expect(late.status).toBe(200);
    const { status } = await fetch(`${service.apiUrls[0]}/v1/responses/${deleted.body.id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${service.key}` },
    });
    expect(status).toBe(200);

    await destroyStore();
    await Promise.all([...service.apis, ...service.workers].map((each) => each.kill()));
    await restore();
    const [api] = await Promise.all([service.addApi(), service.addWorker()]);

    const after = callerOf(api.url, service.key);
    expect((await after.get(stored.body.id)).body).toEqual(stored.body);
    expect((await after.get(late.body.id)).status).toBe(404);
    expect((await after.get(deleted.body.id)).body).toEqual(deleted.body);
    await endsWell(after, ids);
    expect((await after.create({ input: 'And now?', previous_response_id: stored.body.id })).status).toBe(
      200,
    );
  });

  it('may be put under processes that run', async () => {
    const { caller } = service;
    const ids = await acceptWork(caller);
    await backUp();
    await destroyStore();
    await restore();
    await eventually(async () => (await caller.create({ input: 'Back?' })).status === 200);
    await endsWell(caller, ids);
  });
});
