import { loadSettings } from '@sluice/config';
import { createLogger } from '@sluice/runtime';
import { forAllTests, testRedis, type TestRedis } from '@sluice/testing';
import { expect, it, onTestFinished } from 'vitest';
import { StoredCellCounts } from '../src/cells/stored-cell-counts.ts';

const redis = forAllTests(testRedis);

const settings = loadSettings({ env: {}, argv: [], cwd: '/' });
const keyMs = settings.retention.idempotencySeconds * 1_000;

/** What a process knows of the notes of a service, by its name. */
async function start(service: string, connection = redis.client): Promise<StoredCellCounts> {
  const counts = new StoredCellCounts({
    connection,
    keyPrefix: `${redis.prefix}:${service}:`,
    settings,
    logger: createLogger({ name: 'api', level: 'silent' }),
  });
  onTestFinished(() => counts.stop());
  await counts.start();
  return counts;
}

const keyOf = (service: string) => `${redis.prefix}:${service}:cell-counts`;
const note = async (service: string, field: string, sinceMs: number, untilMs: number) => {
  const [seconds] = await redis.client.time();
  const now = Number(seconds) * 1_000;
  await redis.client.hset(keyOf(service), field, `${now - sinceMs} ${now - untilMs}`);
};

it('tells a process that starts what another one has noted, by tenant', async () => {
  const first = await start('tells');
  expect(first.of('team a')).toEqual([]);
  await first.note('team a', 3);
  await first.note('team', 2);
  const second = await start('tells');
  expect(second.of('team a').map(({ cells }) => cells)).toEqual([3]);
  expect(second.of('team').map(({ cells }) => cells)).toEqual([2]);
});

it('lets a number hold some time after its note, and keeps since when it does', async () => {
  await note('keeps', '2 team', 50_000_000, 70_000);
  const counts = await start('keeps');
  await counts.note('team', 3);
  const other = await start('keeps');
  for (const each of [counts, other]) {
    const [two, three] = each.of('team').toSorted((one, next) => one.cells - next.cells);
    expect(two?.cells).toBe(2);
    expect(two?.holdsSinceMs).toBeGreaterThanOrEqual(50_000_000);
    expect(three?.cells).toBe(3);
    expect(three?.holdsSinceMs).toBeLessThan(0);
  }
  // The former number is noted again, and holds anew.
  await other.note('team', 2);
  const again = (await start('keeps')).of('team').find(({ cells }) => cells === 2);
  expect(again?.holdsSinceMs).toBeLessThan(0);
});

it('forgets a number that held so long ago that no key of then comes again', async () => {
  await note('forgets', '3 team', 3 * keyMs, 2 * keyMs);
  const counts = await start('forgets');
  expect(counts.of('team')).toEqual([]);
  expect(await redis.client.hlen(keyOf('forgets'))).toBe(0);
});

it('uses no number that could not be noted', async () => {
  const away = Object.assign(Object.create(redis.client) as TestRedis['client'], {
    hset: () => Promise.reject(new Error('Connection is closed.')),
  });
  const counts = await start('away', away);
  await counts.note('team', 3);
  expect(counts.of('team')).toEqual([]);
});
