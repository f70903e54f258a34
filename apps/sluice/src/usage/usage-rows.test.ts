import type { UsageSum } from '@sluice/usage';
import { describe, expect, it } from 'vitest';
import { askedUsage } from './asked-usage.ts';
import { usageCsv, usageJson, usageTable } from './usage-rows.ts';

const now = Date.parse('2026-03-10T12:30:00Z');
const hours = (text: string) => Date.parse(text) / 3_600_000;

const aSum = (more: Partial<UsageSum>): UsageSum => ({
  hour: 0,
  ...{ tenant: 'team-a', key: null, model: 'm', tier: null, label: null },
  ...{ responses: 1_200, completed: 1_199, failed: 1, incomplete: 0, cancelled: 0 },
  ...{
    input: 10,
    cached: 4,
    cacheWrite: 1,
    output: 5,
    reasoning: 2,
    uncounted: 3,
    slotMs: 1_500,
    spend: 2_500_000,
  },
  ...more,
});

describe('what is asked for', () => {
  it('is a week, up to now, by tenant and model', () => {
    expect(askedUsage({}, now).query).toMatchObject({
      from: hours('2026-03-03T12:00:00Z'),
      until: hours('2026-03-10T13:00:00Z'),
      groupBy: ['tenant', 'model'],
      where: {},
    });
  });

  it('is whole days where days are asked for', () => {
    const asked = askedUsage({ since: '2026-03-08T15:00:00Z', until: '24h', each: 'day', by: 'key' }, now);
    expect(asked.query).toMatchObject({
      from: hours('2026-03-08T00:00:00Z'),
      until: hours('2026-03-10T00:00:00Z'),
      hoursEach: 24,
      groupBy: ['key'],
    });
    expect(asked.timesOf({ hour: hours('2026-03-08T00:00:00Z') })).toEqual({
      since: '2026-03-08T00:00Z',
      until: '2026-03-09T00:00Z',
    });
  });

  it.each([
    [{ since: 'yesterday' }, '--since'],
    [{ until: '2026-13-40' }, '--until'],
    [{ since: '2026-03-10', until: '2026-03-09' }, '--until'],
    [{ each: 'week' }, '--each'],
    [{ by: 'tenant,user' }, "--by: 'user'"],
  ])('is refused for %j', (flags, words) => {
    expect(() => askedUsage(flags, now)).toThrow(words);
  });
});

describe('usage', () => {
  it('is a table', () => {
    expect(usageTable([aSum({})], askedUsage({}, now)).split('\n')).toEqual([
      'tenant  model  responses  failed  input  cached  output  reasoning  uncounted  slot seconds  spend',
      'team-a  m      1,200      1       10     4       5       2          3          1.5           0.0025',
    ]);
  });

  it('tells a terminal nothing by the labels of tenants', () => {
    const label = 'a\u001b]0;b\u0007\u009b2J\r\n,c\t';
    const asked = askedUsage({ since: '2026-03-10', by: 'label' }, now);
    const table = usageTable([aSum({ label })], asked);
    expect(table.split('\n')[1]).toMatch(/^a\ufffd]0;b\ufffd\ufffd2J\ufffd\ufffd,c\ufffd +1,200 /);
    const csv = usageCsv([aSum({ label })], asked);
    expect(csv).toContain(',"a\ufffd]0;b\ufffd\ufffd2J\ufffd\n,c\t",1200,');
    const json = usageJson(aSum({ label }), asked);
    for (const printed of [table, csv.replace('\r\n', ''), json])
      expect(printed).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    expect(JSON.parse(json)).toMatchObject({ label });
  });

  it('is CSV, in which no name is a formula', () => {
    const asked = askedUsage({ since: '2026-03-10', by: 'tenant' }, now);
    const csv = usageCsv([aSum({ tenant: '=1+1' }), aSum({ tenant: 'a "b", c' })], asked);
    expect(csv.split('\r\n')).toEqual([
      'since,until,tenant,responses,failed,input,cached,output,reasoning,uncounted,slot_seconds,spend',
      "2026-03-10T00:00Z,2026-03-10T13:00Z,'=1+1,1200,1,10,4,5,2,3,1.5,0.0025",
      '2026-03-10T00:00Z,2026-03-10T13:00Z,"a ""b"", c",1200,1,10,4,5,2,3,1.5,0.0025',
    ]);
  });
});
