import { TooManySums, type UsageDatabase, type UsageSum } from '@sluice/usage';
import { describe, expect, it } from 'vitest';
import { askedUsage } from './asked-usage.ts';
import { printUsage } from './print-usage.ts';

const now = Date.parse('2026-03-10T12:30:00Z');
const asked = askedUsage({ since: '3h', each: 'hour', by: 'tenant' }, now);

const sumAt = (hour: number): UsageSum => ({
  hour,
  ...{ tenant: `team-${hour - asked.query.from}`, key: null, model: null, tier: null, label: null },
  ...{ responses: 1, completed: 1, failed: 0, incomplete: 0, cancelled: 0 },
  ...{ input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0, uncounted: 0, slotMs: 0, spend: 0 },
});

/** A database that has room for two hours in an answer. */
const database: Pick<UsageDatabase, 'sums'> = {
  sums: ({ from, until }) => {
    const end = Math.min(from + 2, until);
    return Promise.resolve({
      sums: Array.from({ length: end - from }, (_, at) => sumAt(from + at)),
      until: end,
    });
  },
};

async function printed(form: 'table' | 'csv' | 'json'): Promise<string[]> {
  const texts: string[] = [];
  await printUsage(database, asked, { form, print: (text) => texts.push(text) });
  return texts;
}

describe('much usage', () => {
  it('is printed span by span, and has titles once where a program reads it', async () => {
    expect((await printed('json')).map((text) => (JSON.parse(text) as UsageSum).tenant)).toEqual([
      'team-0',
      'team-1',
      'team-2',
      'team-3',
    ]);
    const csv = await printed('csv');
    expect(csv.map((text) => text.split('\r\n').length)).toEqual([3, 2]);
    expect(csv[1]).toMatch(/^2026-03-10T11:00Z,2026-03-10T12:00Z,team-2,/);
    expect((await printed('table')).map((text) => text.split('\n').length)).toEqual([3, 3]);
  });

  it('is asked for in larger parts than an api takes', async () => {
    const most: unknown[] = [];
    const sums: UsageDatabase['sums'] = (query) => {
      most.push(query.most);
      return database.sums(query, '');
    };
    await printUsage({ sums }, asked, { form: 'json', print: () => undefined });
    expect(most).toEqual([20_000, 20_000]);
  });

  it('says how to ask for less where one time alone has too much', async () => {
    const full = { sums: () => Promise.reject(new TooManySums(5)) };
    const printing = printUsage(full, asked, { form: 'csv', print: () => undefined });
    await expect(printing).rejects.toThrow('more than 5 groups in one bucket of time. Name fewer in --by');
  });
});
