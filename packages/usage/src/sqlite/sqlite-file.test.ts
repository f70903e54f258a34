import { mkdtemp, rm } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { msPerHour, rememberedHours, type UsageFact, type UsageQuery } from '../usage-database.ts';
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

const hour = 480_000;
const all: UsageQuery = { from: 0, until: hour * 2, hoursEach: 24, groupBy: [] };

let made = 0;
function aFact(more: Partial<UsageFact> = {}): UsageFact {
  made += 1;
  return {
    id: `create-response_${made}`,
    tenant: 'team-a',
    key: 'a1b2',
    model: 'm',
    tier: 'default',
    label: '',
    outcome: 'completed',
    startedAt: hour * msPerHour,
    endedAt: hour * msPerHour + 1_500,
    spend: 3_150_000,
    tokens: { input: 10, cached: 4, output: 5, reasoning: 2 },
    ...more,
  };
}

describe('a file of usage', () => {
  it('has nothing at first', () => {
    expect(file.sums(all)).toEqual([]);
  });

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

  it('counts a fact once, in one call and over several', () => {
    const fact = aFact();
    file.record([fact, fact]);
    file.record([fact, aFact()]);
    expect(file.sums(all)).toMatchObject([{ responses: 2, input: 20 }]);
  });

  it('knows nothing of a call that failed', () => {
    const fact = aFact();
    // A group that no column takes.
    const broken = aFact({ model: null as unknown as string });
    expect(() => file.record([fact, broken])).toThrow('NOT NULL');
    expect(file.sums(all)).toEqual([]);
    file.record([fact]);
    expect(file.sums(all)).toMatchObject([{ responses: 1 }]);
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
    const sums = [
      'completed',
      'failed',
      'incomplete',
      'cancelled',
      'input',
      'cached',
      'cache_write',
      'output',
    ]
      .concat('reasoning', 'uncounted', 'slot_ms')
      .map((name) => `${name} BIGINT NOT NULL`);
    older.exec(
      `CREATE TABLE usage_sums (hour BIGINT, tenant TEXT, key TEXT, model TEXT, tier TEXT, responses BIGINT, ${sums.join(', ')})`,
    );
    const values = Array.from({ length: sums.length }, (_, at) => at).join(', ');
    older.exec(`INSERT INTO usage_sums VALUES (480000, 'team-a', 'k', 'm', 'default', 7, ${values})`);
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
