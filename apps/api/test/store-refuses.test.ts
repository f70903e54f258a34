import { eventually, hasServer, type LocalRedis, startLocalRedis, testRedis } from '@sluice/testing';
import type { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { postResponse, processSettings, startApi } from './api-process-site.ts';

let store: LocalRedis;
let operator: Redis;
let closeOperator: () => Promise<void>;
let stop: () => Promise<void>;
let url: string;
let lines: string[];

beforeEach(async () => {
  store = await startLocalRedis({ kind: 'server' });
  ({ client: operator, close: closeOperator } = await testRedis(store.url));
  await operator.call('ACL', 'SETUSER', 'sluice', 'on', '>secret', '~*', '&*', '+@all');
  const redisUrl = store.url.replace('redis://', 'redis://sluice:secret@');
  ({ url, lines, stop } = await startApi({ settings: processSettings(redisUrl, 'refuses:') }));
});
afterEach(async () => {
  await stop();
  await closeOperator();
  await store.stop();
});

const create = () => postResponse(url, { background: true });

/** Sends a few requests, which all must be refused, and expects the reason in one line of the log. */
async function expectRefusals(reason: RegExp, retryAfter = '1'): Promise<void> {
  for (let sent = 0; sent < 5; sent += 1) {
    const refused = await create();
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { code: 'server_is_overloaded' } });
    expect(refused.headers.get('retry-after')).toBe(retryAfter);
  }
  const logged = lines.filter((line) => line.includes('"msg":"request refused"'));
  expect(logged).toHaveLength(1);
  expect(logged[0]).toMatch(reason);
  expect(lines.join('')).not.toContain('request failed');
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
}

/** Fewer than the store needs as it is, and then as many as it wants again. */
const full = () => operator.config('SET', 'maxmemory', '1000');
const notFull = () => operator.config('SET', 'maxmemory', '0');

describe.skipIf(!hasServer)('a store that answers and refuses (needs a server on the PATH)', () => {
  it.each<[string, () => Promise<unknown>, () => Promise<unknown>]>([
    [
      'NOREPLICAS',
      () => operator.config('SET', 'min-replicas-to-write', '1'),
      () => operator.config('SET', 'min-replicas-to-write', '0'),
    ],
    [
      'permission',
      () => operator.call('ACL', 'SETUSER', 'sluice', '-evalsha', '-eval', '-set'),
      () => operator.call('ACL', 'SETUSER', 'sluice', '+@all'),
    ],
  ])('is answered with 503 while its reason is %s, and used again after it', async (reason, refuse, mend) => {
    expect((await create()).status).toBe(200);
    await refuse();
    await expectRefusals(new RegExp(reason));
    await mend();
    await eventually(async () => (await create()).status === 200);
    await eventually(async () => (await fetch(`${url}/readyz`)).status === 200);
  });

  it('is answered with 503 and the same wait, whether Redis or the api finds first that it is full', async () => {
    expect((await create()).status).toBe(200);
    await full();
    await expectRefusals(/OOM|Too much is stored/, '5');
    await notFull();
    await eventually(async () => (await create()).status === 200);
    await eventually(async () => (await fetch(`${url}/readyz`)).status === 200);
  });

  it('is answered with 503 while it is busy with a script', async () => {
    // Connected before, because a busy server refuses what a new connection asks for.
    const killer = operator.duplicate();
    await killer.ping();
    await operator.config('SET', 'lua-time-limit', '10');
    const ended = expect(operator.eval('while true do end', 0)).rejects.toThrow('killed');
    try {
      await eventually(async () => (await create()).status === 503);
      await expectRefusals(/BUSY/);
    } finally {
      await killer.script('KILL');
      await ended;
      killer.disconnect();
    }
    await eventually(async () => (await create()).status === 200);
  });
});
