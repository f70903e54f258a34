import { loadSettings } from '@sluice/config';
import { createLogger, parseRedisCells } from '@sluice/runtime';
import { eventually, forAllTests, testRedis } from '@sluice/testing';
import { expect, it } from 'vitest';
import { KnownCells } from '../src/cells/known-cells.ts';

const redis = forAllTests(testRedis);

const hourMs = 3_600_000;
const settings = loadSettings({ env: {}, argv: [], cwd: '/' });
const { signal } = new AbortController();

/** The notes of one service, by its name, and what a process with these addresses knows of them. */
function knowing(service: string, addresses: string): KnownCells {
  const found = parseRedisCells(addresses);
  return new KnownCells({
    connection: redis.client,
    keyPrefix: `${redis.prefix}:${service}:`,
    cells: {
      names: () => found.map(({ name }) => name),
      open: () => found.filter(({ isDraining }) => !isDraining).map(({ name }) => name),
      coming: () => [],
    },
    settings,
    logger: createLogger({ name: 'api', level: 'silent' }),
  });
}

async function started(service: string, addresses: string): Promise<KnownCells> {
  const known = knowing(service, addresses);
  await known.start(signal);
  return known;
}

const noteOf = (service: string, cells: string, agoMs: number) =>
  redis.client.hset(`${redis.prefix}:${service}:cells`, cells, String(Date.now() - agoMs));

it('starts no process without a cell in which responses may live', async () => {
  await noteOf('lacks', '0E', hourMs);
  await expect(started('lacks', 'redis://a')).rejects.toThrow("does not name the cell 'E' any more");
  await started('lacks', 'redis://a redis://b?cell=E&drain');
  expect(await knowing('lacks', 'redis://a').forget('E')).toBe(true);
  await started('lacks', 'redis://a');
  expect(await knowing('lacks', 'redis://a').forget('E')).toBe(false);
});

it('lets a cell go when the retention of its last response is over', async () => {
  await noteOf('over', '0E', 10_000 * hourMs);
  await started('over', 'redis://a');
  expect((await knowing('over', 'redis://a').read()).map(({ name }) => name)).toEqual(['0']);
});

it('knows where tenants were, as long as a key of then may come again', async () => {
  await noteOf('former', '0s', hourMs);
  await noteOf('former', '0q', 30 * hourMs);
  const known = await started('former', 'redis://a redis://b?cell=s&drain redis://c?cell=q&drain');
  expect(known.former).toEqual([['0', 's']]);
});

it('needs a cell that drains for as long as a conversation goes on there', async () => {
  await noteOf('used', '0E', 20 * hourMs);
  const known = await started('used', 'redis://a redis://b?cell=E&drain');
  const openAt = async () => (await known.read()).find(({ name }) => name === 'E')?.openAt ?? 0;
  const before = await openAt();
  known.use('E');
  await eventually(async () => (await openAt()) > before + 19 * hourMs);
  expect(known.former).toEqual([['0', 'E']]);
});
