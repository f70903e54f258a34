import { loadSettings } from '@sluice/config';
import { closeRedis, commandClient, createLogger, parseRedisCells } from '@sluice/runtime';
import { eventually, hasServer, startLocalRedis, testRedis, type TestRedis } from '@sluice/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { closeConnections, connect, operatorRole, workerRole } from '../src/index.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await testRedis();
});
afterAll(() => redis.close());

const logger = createLogger({ name: 'worker', level: 'silent' });
const onQueueError = () => undefined;
const { signal } = new AbortController();

function settingsOf(service: string) {
  return {
    ...loadSettings({ env: {}, argv: [], cwd: '/' }),
    redisUrl: redis.url,
    keyPrefix: `${redis.prefix}:${service}`,
  };
}

it('is started once, whether it was there when a worker starts or comes later', async () => {
  const role = workerRole({
    processId: 'w1',
    onEndAskedFor: () => undefined,
    roomForInput: () => true,
    onError: () => undefined,
  });
  const wired = connect(settingsOf('once'), role, { logger, onQueueError });
  const url = new URL(redis.url);
  url.searchParams.set('cell', 'E');
  const configured = parseRedisCells(redis.url);
  await eventually(() => wired.clients.commands.status === 'ready');
  await wired.storedCells.add({ name: 'E', url: url.href, isDraining: false }, configured);
  await wired.cellWatch.start(signal);
  await wired.store.start();
  const cell = wired.cells.get('E');
  await eventually(() => cell?.clients.subscriber.listenerCount('message') === 1);
  await wired.store.stop();
  expect(cell?.clients.subscriber.listenerCount('message')).toBe(0);
  await closeConnections(wired);
});

it.skipIf(!hasServer)('is refused when its Redis cannot give the durability of the service', async () => {
  const other = await startLocalRedis({ kind: 'server' });
  const client = commandClient(other.url, { logger });
  await eventually(() => client.status === 'ready');
  await client.config('SET', 'appendonly', 'no');
  await closeRedis(client);
  const settings = { ...settingsOf('durable'), durability: 'fsync' as const };
  const wired = connect(settings, operatorRole(), { logger, onQueueError });
  await eventually(() => wired.clients.commands.status === 'ready');
  await expect(wired.cellChanges.add(other.url)).rejects.toThrow(/is no cell: .*(append|log)/i);
  await closeConnections(wired);
  await other.stop();
});
