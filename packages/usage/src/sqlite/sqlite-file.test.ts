import { mkdtemp, rm } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aFact, hour, sumsByOlderRelease, wholeTime } from '../../test/facts.ts';
import { msPerHour, rememberedHours, type UsageQuery } from '../usage-database.ts';
import { SqliteFile } from './sqlite-file.ts';

let folder: string;
let file: SqliteFile;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-usage-'));
  file = new SqliteFile(join(folder, 'usage.sqlite'));
});
afterEach(async () => {
  file.close();
  await rm(folder, { recursive: true, force: true });
});

const all: UsageQuery = { ...wholeTime, groupBy: [] };

describe('a file of usage', () => {
  it('sums up what responses took', () => {
    const cutOff = aFact({ outcome: 'failed', startedAt: undefined, tokens: { uncounted: 3 } });
    file.record([aFact(), aFact(), cutOff]);
    expect(file.sums(all)).toEqual([
      {
        hour,
        tenant: null,
        key: null,
        model: null,
        tier: null,
        label: null,
        responses: 3,
        completed: 2,
        failed: 1,
        incomplete: 0,
        cancelled: 0,
        input: 20,
        cached: 8,
        cacheWrite: 0,
        output: 10,
        reasoning: 4,
        uncounted: 3,
        slotMs: 3_000,
        spend: 9_450_000,
      },
    ]);
  });

  it('tells apart hours, tenants, keys, models and tiers, as far as it is asked', () => {
    const later = { endedAt: (hour + 1) * msPerHour };
    file.record([aFact(), aFact({ tenant: 'team-b' }), aFact(later), aFact({ tier: 'batch', model: 'n' })]);
    expect(file.sums({ ...all, hoursEach: 1 })).toMatchObject([
      { hour, responses: 3 },
      { hour: hour + 1, responses: 1 },
    ]);
    expect(file.sums({ ...all, groupBy: ['tenant'] })).toMatchObject([
      { tenant: 'team-a', model: null, responses: 3 },
      { tenant: 'team-b', responses: 1 },
    ]);
    expect(file.sums({ ...all, groupBy: ['model', 'tier'] })).toMatchObject([
      { model: 'm', tier: 'default', responses: 3 },
      { model: 'n', tier: 'batch', responses: 1 },
    ]);
    file.record([aFact({ label: 'blue', tenant: 'team-c' })]);
    expect(file.sums({ ...all, groupBy: ['label'], where: { tenant: ['team-c'] } })).toMatchObject([
      { label: 'blue', responses: 1 },
    ]);
    expect(file.sums({ ...all, isBatch: true })).toMatchObject([{ responses: 1 }]);
    expect(file.sums({ ...all, isBatch: false, where: { tenant: ['team-a', 'x'] } })).toMatchObject([
      { responses: 2 },
    ]);
    expect(file.sums({ ...all, where: { tenant: [] } })).toEqual([]);
    expect(file.sums({ ...all, from: hour + 1, where: { key: ["'; DROP TABLE sums; --"] } })).toEqual([]);
    expect(file.sums({ ...all, from: hour + 1 })).toMatchObject([{ responses: 1 }]);
  });

  it('reads one row more than an answer may have, and no further ones', () => {
    file.record(['a', 'b', 'c', 'd'].map((label) => aFact({ label })));
    expect(file.sums({ ...all, groupBy: ['label'], most: 2 })).toMatchObject([
      { label: 'a' },
      { label: 'b' },
      { label: 'c' },
    ]);
  });

  it('keeps everything, and its id, when it is opened again, beside another process', () => {
    file.record([aFact()]);
    const again = new SqliteFile(join(folder, 'usage.sqlite'));
    again.record([aFact()]);
    expect(file.sums(all)).toMatchObject([{ responses: 2 }]);
    expect(again.id).toBe(file.id);
    again.close();
  });

  it('knows an id for as long as its end may come again', () => {
    const fact = aFact();
    file.record([fact]);
    file.record([aFact({ endedAt: (hour + rememberedHours) * msPerHour })]);
    file.record([fact]);
    expect(file.sums(all)).toMatchObject([{ responses: 1 }, { responses: 1 }]);
    file.record([aFact({ endedAt: (hour + rememberedHours + 1) * msPerHour })]);
    const told = new DatabaseSync(join(folder, 'usage.sqlite'));
    expect(told.prepare('SELECT count(*) AS count FROM usage_told').get()).toEqual({ count: 2 });
    told.close();
  });

  it('takes over what an older release has summed up', () => {
    const path = join(folder, 'older.sqlite');
    const older = new DatabaseSync(path);
    for (const statement of sumsByOlderRelease('team-a')) older.exec(statement);
    for (const _opened of [1, 2]) {
      const newer = new SqliteFile(path);
      expect(newer.sums(all)).toMatchObject([{ responses: 7, input: 4, slotMs: 10, spend: 0 }]);
      newer.close();
    }
    older.close();
  });

  it('sums up more money than a number is exact', () => {
    const most = aFact({ spend: 9_000_000_000_000_000 });
    file.record([most, aFact({ spend: 9_000_000_000_000_000 })]);
    expect(file.sums(all)).toMatchObject([{ spend: 18_000_000_000_000_000 }]);
  });

  it('refuses a file of a newer release', () => {
    const newer = new DatabaseSync(join(folder, 'newer.sqlite'));
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    expect(() => new SqliteFile(join(folder, 'newer.sqlite'))).toThrow('newer release');
  });
});
