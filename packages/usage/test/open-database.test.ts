import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  eventually,
  hasPostgres,
  type LocalPostgres,
  startLocalPostgres,
  startRedisProxy,
} from '@sluice/testing';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  openPostgres,
  openSqlite,
  recordEach,
  TooManySums,
  type UsageDatabase,
  type UsageQuery,
} from '../src/index.ts';
import { msPerHour } from '../src/usage-database.ts';
import { aFact, hour, sumsByOlderRelease, wholeTime } from './facts.ts';

const all: UsageQuery = { ...wholeTime, groupBy: ['tenant', 'tier'] };
const closing: UsageDatabase[] = [];

let folder: string;
let postgres: LocalPostgres | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-usage-'));
  if (hasPostgres) postgres = await startLocalPostgres();
});
afterAll(async () => {
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((database) => database.close()));
});

function opened(
  kind: 'SQLite' | 'Postgres',
  onError: (error: unknown) => void = () => undefined,
): UsageDatabase {
  const database =
    kind === 'SQLite'
      ? openSqlite({ path: join(folder, 'deep', 'usage.sqlite'), onError })
      : openPostgres({ url: postgres?.url ?? '', onError });
  closing.push(database);
  return database;
}

describe.each([
  ['SQLite', true],
  ['Postgres', hasPostgres],
] as const)('usage in %s', (kind, isHere) => {
  it.skipIf(!isHere)('is the same by two who count at once (Postgres needs initdb on the PATH)', async () => {
    const [one, other] = [opened(kind), opened(kind)];
    // Both make the tables.
    const [id] = await Promise.all([one.id(), other.id()]);
    expect(await other.id()).toBe(id);
    const facts = Array.from({ length: 60 }, () => aFact());
    const batch = aFact({
      tier: 'batch',
      tenant: 'team-b',
      outcome: 'cancelled',
      startedAt: undefined,
      tokens: {},
    });
    await Promise.all([
      one.record(facts.slice(0, 40)),
      other.record([...facts.slice(20), batch, batch]),
      one.record(facts.slice(10, 30)),
    ]);
    expect((await other.sums(all, 'team-a')).sums).toEqual([
      {
        ...{ hour, tenant: 'team-a', key: null, model: null, tier: 'default', label: null },
        ...{ responses: 60, completed: 60, failed: 0, incomplete: 0, cancelled: 0 },
        ...{ input: 600, cached: 240, cacheWrite: 0, output: 300, reasoning: 120, uncounted: 0 },
        slotMs: 90_000,
        spend: 189_000_000,
      },
      expect.objectContaining({ tenant: 'team-b', tier: 'batch', responses: 1, cancelled: 1, slotMs: 0 }),
    ]);
    expect(
      (await one.sums({ ...all, isBatch: true, where: { tenant: ['team-b'], model: ['m'] } }, '')).sums,
    ).toHaveLength(1);
    expect((await one.sums({ ...all, from: hour + 1 }, '')).sums).toEqual([]);
    expect((await one.sums({ ...all, where: { key: ["'; DROP TABLE usage_sums; --"] } }, '')).sums).toEqual(
      [],
    );
  });

  it.skipIf(!isHere)('takes a NUL of a caller as a character that is not known', async () => {
    const database = opened(kind);
    const ofTeam = { ...all, groupBy: ['label' as const], where: { tenant: ['team-g'], label: ['a\0b'] } };
    await database.record([aFact({ tenant: 'team-g', label: 'a\0b' }), aFact({ tenant: 'team-g' })]);
    expect((await database.sums(ofTeam, '')).sums).toMatchObject([{ label: 'a\uFFFDb', responses: 1 }]);
  });

  it.skipIf(!isHere)('answers with the whole buckets that fit, and refuses one that does not', async () => {
    const database = opened(kind);
    const facts = [0, 0, 1, 1, 1, 2].map((later, at) =>
      aFact({ tenant: 'team-i', label: `l-${at}`, endedAt: (hour + later) * msPerHour }),
    );
    await database.record(facts);
    const asked = { ...all, hoursEach: 1, groupBy: ['label' as const], where: { tenant: ['team-i'] } };
    const answerTo = async (query: Partial<UsageQuery>) => {
      const { sums, until } = await database.sums({ ...asked, ...query }, '');
      return { labels: sums.map(({ label }) => label), until };
    };
    expect(await answerTo({})).toMatchObject({ labels: { length: 6 }, until: asked.until });
    expect(await answerTo({ most: 6 })).toMatchObject({ labels: { length: 6 }, until: asked.until });
    expect(await answerTo({ most: 4 })).toEqual({ labels: ['l-0', 'l-1'], until: hour + 1 });
    expect(await answerTo({ most: 3, from: hour + 1 })).toEqual({
      labels: ['l-2', 'l-3', 'l-4'],
      until: hour + 2,
    });
    await expect(answerTo({ most: 2, from: hour + 1 })).rejects.toThrow(TooManySums);
  });

  it.skipIf(!isHere)('keeps none of a call that failed', async () => {
    const database = opened(kind);
    const fact = aFact({ tenant: 'team-c' });
    const broken = aFact({ tenant: 'team-c', model: null as unknown as string });
    await expect(database.record([fact, broken])).rejects.toThrow(/null/i);
    const ofTeam = { ...all, where: { tenant: ['team-c'] } };
    expect((await database.sums(ofTeam, '')).sums).toEqual([]);
    await database.record([fact]);
    expect((await database.sums(ofTeam, '')).sums).toMatchObject([{ responses: 1 }]);
  });
});

it.skipIf(!hasPostgres)(
  'what a database refuses for its values keeps nothing else waiting (needs initdb on the PATH)',
  async () => {
    const database = opened('Postgres');
    const ofTeam = { ...all, where: { tenant: ['team-h'] } };
    const [one, other] = [aFact({ tenant: 'team-h' }), aFact({ tenant: 'team-h' })];
    const tooMuch = aFact({ tenant: 'team-h', spend: 1e19 });
    expect(await recordEach(database, [one, tooMuch, other])).toEqual([tooMuch]);
    expect((await database.sums(ofTeam, '')).sums).toMatchObject([{ responses: 2 }]);
  },
);

it.skipIf(!hasPostgres)(
  'a database that goes away takes nothing, and takes it when it is back (needs initdb on the PATH)',
  async () => {
    const errors: unknown[] = [];
    const database = opened('Postgres', (error) => errors.push(error));
    const ofTeam = { ...all, where: { tenant: ['team-d'] } };
    const fact = aFact({ tenant: 'team-d' });
    await database.record([fact]);
    await postgres?.restart();
    const record = async () => {
      for (;;) {
        try {
          return await database.record([fact, aFact({ tenant: 'team-d' })]);
        } catch (error) {
          errors.push(error);
        }
      }
    };
    await record();
    expect((await database.sums(ofTeam, '')).sums).toMatchObject([{ responses: 2 }]);
    expect(errors.length).toBeGreaterThan(0);
  },
);

it.skipIf(!hasPostgres)(
  'a connection that is lost in the middle of a call fails that call alone (needs initdb on the PATH)',
  async () => {
    const url = postgres?.url ?? '';
    const proxy = await startRedisProxy(url); // which looks into nothing that it passes on
    const database = openPostgres({ url: proxy.url, onError: () => undefined });
    closing.push(database);
    const ofTeam = { ...all, where: { tenant: ['team-f'] } };
    const fact = aFact({ tenant: 'team-f' });
    await database.id();
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    await other.query('BEGIN');
    await other.query('LOCK TABLE usage_hours');
    const recording = expect(database.record([fact])).rejects.toThrow(/ECONNRESET|terminated/);
    const waiting = "SELECT 1 FROM pg_locks WHERE relation = 'usage_hours'::regclass AND NOT granted";
    await eventually(async () => expect((await other.query(waiting)).rows).toHaveLength(1));
    proxy.refuse();
    // An error that nobody listens to would end the process here, and fails the run of the tests.
    await recording;
    proxy.mend();
    await other.end();
    await database.record([fact]);
    expect((await database.sums(ofTeam, '')).sums).toMatchObject([{ responses: 1 }]);
    await proxy.stop();
  },
);

it.skipIf(!hasPostgres)(
  'a database takes over what an older release has summed up (needs initdb on the PATH)',
  async () => {
    const client = new pg.Client({ connectionString: postgres?.url });
    await client.connect();
    for (const statement of sumsByOlderRelease('team-e')) await client.query(statement);
    await client.end();
    const ofTeam = { ...all, where: { tenant: ['team-e'] } };
    const [one, other] = [opened('Postgres'), opened('Postgres')];
    await Promise.all([one.id(), other.id()]);
    expect((await one.sums(ofTeam, '')).sums).toMatchObject([
      { responses: 7, input: 4, slotMs: 10, spend: 0 },
    ]);
  },
);

it('a database that cannot be opened says why, each time', async () => {
  const sqlite = openSqlite({ path: folder, onError: () => undefined });
  closing.push(sqlite);
  await expect(sqlite.record([aFact()])).rejects.toThrow(folder);
  const absent = openPostgres({ url: 'postgres://127.0.0.1:1/none', onError: () => undefined });
  closing.push(absent);
  await expect(absent.sums(all, '')).rejects.toThrow();
  await expect(recordEach(absent, [aFact()])).rejects.toThrow();
});
