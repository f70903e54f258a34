import { loadSettings } from '@sluice/config';
import { closeRedis, commandClient, createLogger, parseRedisCells } from '@sluice/runtime';
import { eventually, forAllTests, hasServer, startLocalRedis, testRedis } from '@sluice/testing';
import { expect, it } from 'vitest';
import { closeConnections, connect, operatorRole, watchRedis, workerRole } from '../src/index.ts';

const redis = forAllTests(testRedis);

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

const settingsThatRefuse: [string, { name: string; wrong: string; right: string }][] = [
  ['would lose accepted work', { name: 'maxmemory-policy', wrong: 'allkeys-lru', right: 'noeviction' }],
  ['has another password', { name: 'requirepass', wrong: 'changed', right: '' }],
];
it.skipIf(!hasServer).each(settingsThatRefuse)(
  'keeps no process from its start when its Redis %s, and is used once that is mended',
  async (_problem, { name, wrong, right }) => {
    const other = await startLocalRedis({ kind: 'server' });
    const admin = commandClient(other.url, { logger });
    await eventually(() => admin.status === 'ready');
    await admin.config('SET', name, wrong);
    const url = new URL(other.url);
    url.searchParams.set('cell', 'E');
    const role = workerRole({
      processId: 'w1',
      onEndAskedFor: () => undefined,
      roomForInput: () => true,
      onError: () => undefined,
    });
    const said: string[] = [];
    const told = createLogger({
      name: 'worker',
      level: 'warn',
      destination: { write: (line) => said.push(line) },
    });
    const wired = connect(settingsOf(name), role, { logger: told, onQueueError });
    const watches = watchRedis(wired, { logger: told });
    await watches.start(signal);
    const cell = { name: 'E', url: url.href, isDraining: false };
    await wired.storedCells.add(cell, parseRedisCells(redis.url));
    await wired.cellWatch.start(signal);
    await wired.store.start();
    expect(wired.cells.get('E')).toBeDefined();
    await eventually(() => said.some((line) => line.includes(`cell 'E' at ${other.url}: `)));
    expect(said.join('')).not.toContain('REDIS_URL');
    expect(watches.away).toEqual(['E']);
    await admin.config('SET', name, right);
    const subscriber = wired.cells.get('E')?.clients.subscriber;
    await eventually(() => watches.isWell && subscriber?.listenerCount('message') === 1);
    watches.stop();
    await wired.store.stop();
    await closeConnections(wired);
    await closeRedis(admin);
    await other.stop();
  },
);

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
