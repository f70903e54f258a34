import { readFileSync } from 'node:fs';
import { checkKey } from '@sluice/config';
import { forEachOnWire, limitNames, tenantLimits } from '@sluice/contract/tenant-limits';
import { describe, expect, it } from 'vitest';
import { tenantsTable } from '../tenants/tenants-table.ts';
import { describeKeyFlags, keyFlagOptions, limitFlagOptions, wantedKey } from './key-flags.ts';

const openapi = readFileSync(new URL('../../../../docs/openapi.json', import.meta.url), 'utf8');

// A row of the table is enough: nobody else lists the limits.
describe.each(limitNames)('the limit %s', (name) => {
  const { wire, short, least, most } = tenantLimits[name];
  const flag = wire.replaceAll('_', '-');

  it('is a member of a key within its bounds', () => {
    const check = (value: number) => checkKey({ name: 'team', limits: { [name]: value } });
    for (const value of [least, most]) expect(check(value)).toMatchObject({ limits: { [name]: value } });
    for (const value of [least - 1, most + 1]) {
      expect(check(value)).toMatchObject({ problems: [{ path: ['limits', name] }] });
    }
  });

  it('is a flag', () => {
    expect(keyFlagOptions).toHaveProperty(flag);
    expect(limitFlagOptions).toHaveProperty(flag);
    expect(describeKeyFlags()).toContain(`--${flag} N `);
    expect(wantedKey({ [flag]: '7' }).limits).toEqual({ [name]: 7 });
  });

  it('is in the document of the admin API, to be changed and to be reported', () => {
    expect(openapi).toContain(`"${name}": {`);
    expect(openapi).toContain(`"${wire}": {`);
  });

  it('is a column of `sluice tenants`', () => {
    const limits = { ...forEachOnWire(() => null), [wire]: 4321 };
    const use = { requests_in_minute: 1, tokens_in_minute: 1, running: 1, in_line: 1 };
    const budgets = { tokens_in_day: 1, tokens_in_month: 1, spend_in_day: 1, spend_in_month: 1 };
    const stored = { waiting: 1, waiting_bytes: 1, stored_bytes: 1 };
    const row = {
      tenant: 'team',
      weight: 1,
      tiers: [],
      models: ['*'],
      limits,
      use: { ...use, ...budgets, ...stored },
    };
    const table = tenantsTable([row]);
    expect(table).toContain(short.toLowerCase());
    expect(table).toContain('4321');
  });
});
