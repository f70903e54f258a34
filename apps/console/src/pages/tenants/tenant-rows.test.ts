import type { TenantReportRow } from '@sluice/contract/admin';
import { forEachOnWire } from '@sluice/contract/tenant-limits';
import { describe, expect, it } from 'vitest';
import { fullestOf, measuredLimits, orderOf, shareWords, tenantRows } from './tenant-rows.ts';

function tenant(name: string, given: Partial<TenantReportRow> = {}): TenantReportRow {
  return {
    ...{ tenant: name, weight: 1, tiers: [], models: ['*'], share: 0, fair_share: 0, keys: 1 },
    limits: {
      ...forEachOnWire(() => null),
    },
    use: {
      ...{ tokens_in_day: null, tokens_in_month: null, spend_in_day: null, spend_in_month: null },
      ...{ requests_in_minute: null, tokens_in_minute: null, waiting: 0 },
      ...{ waiting_bytes: 0, stored_bytes: 0, running: null, in_line: null },
    },
    ...given,
  };
}
const busy = tenant('busy', {
  limits: { ...tenant('').limits, concurrent: 8, queued: 10 },
  use: { ...tenant('').use, running: 2, waiting: 9, in_line: 3 },
});
const names = (rows: TenantReportRow[]) => rows.map(({ tenant: name }) => name);

describe('tenantRows', () => {
  it('puts the largest first and orders equals by name', () => {
    const rows = [tenant('c'), tenant('b', { share: 0.2 }), tenant('a'), busy];
    expect(names(tenantRows(rows, 'share'))).toEqual(['b', 'a', 'busy', 'c']);
    expect(names(tenantRows(rows, 'waiting'))[0]).toBe('busy');
    expect(names(tenantRows(rows, 'limit'))[0]).toBe('busy');
    expect(names(tenantRows(rows, 'name'))).toEqual(['a', 'b', 'busy', 'c']);
  });

  it('has an order for every address', () => {
    expect(orderOf('weight')).toBe('weight');
    expect(orderOf('toString')).toBe('share');
  });
});

describe('limits', () => {
  it('finds the limit that is used up most', () => {
    expect(fullestOf(busy)).toMatchObject({ limit: { key: 'queued', used: 9, max: 10 }, share: 0.9 });
    expect(fullestOf(tenant('free'))).toBeUndefined();
  });

  it('lists every limit that has a use', () => {
    expect(measuredLimits(busy).map(({ key }) => key)).toEqual([
      'requests_per_minute',
      'tokens_per_minute',
      'tokens_per_day',
      'tokens_per_month',
      'spend_per_day',
      'spend_per_month',
      'concurrent',
      'queued',
      'queued_bytes',
      'stored_bytes',
    ]);
  });

  it('says what a share means', () => {
    expect(shareWords(null, null)).toMatch(/^No output/);
    expect(shareWords(0.4, 0.2)).toMatch(/^More/);
    expect(shareWords(0.1, 0.2)).toMatch(/^Less/);
    expect(shareWords(0.2, 0.2)).toMatch(/^About/);
  });
});
