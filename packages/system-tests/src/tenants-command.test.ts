import { forEachOnWire } from '@sluice/contract/tenant-limits';
import { eventually } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { testService } from './service.ts';
import { linesOfJson } from './sluice-process.ts';

const key = 'sk-team-a-0123456789abcdef';

const service = testService(() => ({
  workers: 0,
  settings: {
    keys: [
      {
        name: 'team-a',
        key,
        weight: 2,
        models: ['simulator'],
        limits: { requestsPerMinute: 60, concurrent: 1, queued: 10 },
      },
    ],
    providers: [{ id: 'simulator', type: 'simulator', firstTokenMs: 0, tokensPerSecond: 0 }],
    models: [{ id: 'simulator', routes: [{ provider: 'simulator' }] }],
  },
}));

const sluice = (command: 'keys' | 'tenants', ...args: string[]) => service.run(command, ...args);

/** What the command prints as JSON, one line for each tenant. */
const tenantsOf = async (...args: string[]) =>
  linesOfJson((await sluice('tenants', '--json', ...args)).output);

/** Budgets and tokens, where there is no limit of them. */
const notCounted = {
  tokens_in_minute: null,
  tokens_in_day: null,
  tokens_in_month: null,
  spend_in_day: null,
  spend_in_month: null,
};

describe('sluice tenants', () => {
  it('shows limits and use of the tenants of the file and of stored keys, as the admin listener does', async () => {
    await sluice(
      'keys',
      'create',
      '--tenant',
      'team-b',
      '--tokens-per-minute',
      '5000',
      '--stored-bytes',
      '100000',
    );
    const caller = callerOf(service.apiUrls[0] ?? '', key);
    for (let at = 0; at < 3; at += 1) await caller.create({ input: 'Hi', background: true });
    const found = { tenants: await tenantsOf() };
    const limits = {
      ...forEachOnWire(() => null),
      requests_per_minute: 60,
      concurrent: 1,
      queued: 10,
      // Its shares of the service.
      queued_bytes: 2_147_483_648,
      stored_bytes: expect.any(Number),
      reads_per_minute: 60_000,
      cells: 1,
    };
    const use = {
      ...notCounted,
      requests_in_minute: 3,
      waiting: 3,
      waiting_bytes: 3 * 1024,
      stored_bytes: 3 * (1024 + 2048),
      running: 0,
      in_line: 2,
    };
    const tiers = ['default', 'flex'];
    expect(found).toEqual({
      tenants: [
        { tenant: 'team-a', weight: 2, tiers, models: ['simulator'], limits, use },
        expect.objectContaining({
          tenant: 'team-b',
          limits: expect.objectContaining({ tokens_per_minute: 5000, queued: 50_000, stored_bytes: 100_000 }),
          use: expect.objectContaining({ tokens_in_minute: 0, waiting: 0 }),
        }),
      ],
    });
    await eventually(async () => {
      const answer = await fetch(`${service.adminUrls[0]}/admin/v1/tenants`);
      const { data } = (await answer.json()) as { data: Record<string, unknown>[] };
      const known = data.map(({ share: _, fair_share: _fair, keys: _keys, ...tenant }) => tenant);
      return JSON.stringify({ tenants: known }) === JSON.stringify(found);
    });
    const { code, output } = await sluice('tenants');
    expect(code).toBe(0);
    expect(output).toMatch(
      /^tenant +weight +requests\/min +tokens\/min .*running +in line +waiting +waiting bytes +stored bytes/m,
    );
    expect(output).toMatch(
      /^team-a +2 +3\/60 +(?:- +){5}0\/1 +2 +3\/10 +3072\/2147483648 +9216\/\d+ +- +60000 +1 +default,flex +simulator$/m,
    );
    expect(output).toMatch(
      /^team-b +1 +- +0\/5000 +(?:- +){6}0\/50000 +0\/2147483648 +0\/100000 +- +60000 +1 +default,flex +\*$/m,
    );
  });

  it('shows one tenant', async () => {
    expect(await tenantsOf('team-a')).toMatchObject([{ tenant: 'team-a' }]);
    expect((await sluice('tenants', 'team-a')).output.trim().split('\n')).toHaveLength(2);
    expect(await sluice('tenants', 'list', 'team-a')).toEqual(await sluice('tenants', 'team-a'));
    expect((await sluice('tenants', 'list')).output.trim().split('\n')).toHaveLength(3);
  });

  it.each([
    [['taem-a'], 1, /There is no tenant 'taem-a' with a key: did you mean "team-a"\?/],
    [['quite-another'], 1, /There is no tenant 'quite-another' with a key: known are team-a/],
    [['team-a', 'x'], 2, /'x' is one argument too many/],
    [['--nope'], 2, /--nope/],
  ])('says what is wrong with %j', async (args, code, message) => {
    expect(await sluice('tenants', ...args)).toEqual({ code, output: expect.stringMatching(message) });
  });
});
