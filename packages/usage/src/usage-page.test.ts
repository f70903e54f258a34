import { costPageSchema, costQuerySchema, usagePageSchema, usageQuerySchema } from '@sluice/contract';
import { costAgainstParsing } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { mostSums, type UsageSum } from './usage-database.ts';
import { askedCosts, type AskedPage, askedPage, costPage, pageUntil, usagePage } from './usage-page.ts';

const day = 86_400;
const today = 20_000 * day;
const now = today + 3_600;
const shown = (page: AskedPage, sums: readonly UsageSum[]) => usagePage(page, sums, 'USD');
const asked = (query: Record<string, unknown>, tenant?: string) =>
  askedPage(usageQuerySchema.parse({ start_time: String(today - 9 * day), ...query }), { now, tenant });

const aSum = (more: Partial<UsageSum> = {}): UsageSum => ({
  hour: (today - 9 * day) / 3_600,
  ...{ tenant: null, key: null, model: null, tier: null, label: null },
  ...{ responses: 2, completed: 1, failed: 1, incomplete: 0, cancelled: 0 },
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

describe('a page of usage', () => {
  it('has seven days, and the next page has the rest up to now', () => {
    const page = shown(asked({}), [aSum()]);
    expect(usagePageSchema.parse(page)).toEqual(page);
    expect(page.data.map(({ start_time }) => start_time)).toEqual(
      Array.from({ length: 7 }, (_, at) => today - (9 - at) * day),
    );
    expect(page).toMatchObject({
      has_more: true,
      next_page: `page_${today - 2 * day}`,
      data: [
        {
          end_time: today - 8 * day,
          results: [
            {
              num_model_requests: 2,
              input_tokens: 10,
              slot_seconds: 1.5,
              amount: { value: 0.0025, currency: 'usd' },
            },
          ],
        },
        { results: [] },
        {},
        {},
        {},
        {},
        {},
      ],
    });
    const rest = shown(asked({ page: page.next_page }), []);
    expect(rest.data.map(({ start_time }) => start_time)).toEqual([today - 2 * day, today - day, today]);
    expect(rest).toMatchObject({ has_more: false, next_page: null });
  });

  it('ends where the database has no room for more, and the next page has the rest', () => {
    const question = asked({});
    const page = shown(pageUntil(question, (today - 7 * day) / 3_600), [aSum()]);
    expect(page.data.map(({ start_time }) => start_time)).toEqual([today - 9 * day, today - 8 * day]);
    expect(page).toMatchObject({ has_more: true, next_page: `page_${today - 7 * day}` });
    expect(asked({ page: page.next_page }).starts[0]).toBe(today - 7 * day);
    expect(pageUntil(question, question.query.until)).toBe(question);
  });

  it('has hours where they are asked for, whole ones', () => {
    const { query, starts, next } = asked({
      start_time: String(today + 100),
      end_time: String(today + 7_201),
      bucket_width: '1h',
    });
    expect(query).toMatchObject({ from: today / 3_600, until: today / 3_600 + 3, hoursEach: 1 });
    expect(starts).toEqual([today, today + 3_600, today + 7_200]);
    expect(next).toBeUndefined();
  });

  it('is of the tenant who asks alone', () => {
    expect(asked({}, 'team-a').query.where).toEqual({ tenant: ['team-a'] });
    expect(asked({ project_ids: ['team-a', 'team-b'] }, 'team-a').query.where).toEqual({
      tenant: ['team-a'],
    });
    expect(asked({ 'project_ids[]': 'team-b' }, 'team-a').query.where).toEqual({ tenant: [] });
    expect(asked({ project_ids: 'team-b' }).query.where).toEqual({ tenant: ['team-b'] });
  });

  it('brings tiers together where it is grouped by batch alone', () => {
    const sums = [aSum({ tier: 'batch' }), aSum({ tier: 'default' }), aSum({ tier: 'flex' })];
    const results = shown(asked({ group_by: 'batch' }), sums).data[0]?.results;
    expect(results).toMatchObject([
      { batch: true, service_tier: null, num_model_requests: 2 },
      {
        batch: false,
        service_tier: null,
        num_model_requests: 4,
        input_tokens: 20,
        slot_seconds: 3,
        amount: { value: 0.005 },
      },
    ]);
    const byTier = shown(asked({ 'group_by[]': ['batch', 'service_tier'] }), sums).data[0]?.results;
    expect(byTier?.map(({ service_tier }) => service_tier)).toEqual(['batch', 'default', 'flex']);
  });

  it('has no more than can be printed in one go', () => {
    const longest = { tenant: 't'.repeat(64), key: 'k'.repeat(32), model: 'm'.repeat(64), tier: 'priority' };
    const sums = Array.from({ length: mostSums }, (_, at) =>
      aSum({ ...longest, label: `${at}`.padEnd(512, 'l') }),
    );
    const groups = ['project_id', 'api_key_id', 'model', 'service_tier', 'label'];
    const page = shown(asked({ 'group_by[]': groups }), sums);
    expect(page.data[0]?.results).toHaveLength(mostSums);
    expect(JSON.stringify(page).length).toBeLessThan(8 * 1024 * 1024);
  });
});

describe('a page of costs', () => {
  it('takes no more than in proportion to the sums that it is of', () => {
    const query = costQuerySchema.parse({ start_time: String(today - 9 * day), 'group_by[]': 'line_item' });
    const question = askedPage(askedCosts(query), { now, tenant: 'team-a' });
    const sums = Array.from({ length: 20_000 }, (_, at) => aSum({ model: `m-${at}` }));
    const mostCost = 10; // a hundred where each sum takes in proportion to those before it
    const cost = costAgainstParsing(sums, () => () => costPage(question, sums, 'USD'));
    expect(cost).toBeLessThan(mostCost);
  });

  it('has the money of each model and tenant', () => {
    const query = costQuerySchema.parse({
      start_time: String(today - 9 * day),
      'group_by[]': ['line_item', 'project_id'],
      'line_items[]': 'm',
    });
    const question = askedPage(askedCosts(query), { now, tenant: 'team-a' });
    expect(question.query).toMatchObject({
      groupBy: ['model', 'tenant'],
      where: { model: ['m'], tenant: ['team-a'] },
      hoursEach: 24,
    });
    const page = costPage(question, [aSum({ model: 'm', tenant: 'team-a' })], 'USD');
    expect(costPageSchema.parse(page)).toEqual(page);
    expect(page.data[0]?.results).toEqual([
      {
        object: 'organization.costs.result',
        amount: { value: 0.0025, currency: 'usd' },
        line_item: 'm',
        project_id: 'team-a',
        api_key_id: null,
      },
    ]);
  });

  it.each([
    [{ start_time: '5', bucket_width: '1h' }, 'bucket_width'],
    [{ start_time: '5', group_by: 'model' }, 'group_by'],
    [{ start_time: '5', limit: '181' }, 'limit'],
  ])('is refused of %j for its %s', (query, name) => {
    expect(costQuerySchema.safeParse(query).error?.issues[0]?.path[0]).toBe(name);
  });
});

describe('a question for usage', () => {
  it.each([
    [{}, 'start_time'],
    [{ start_time: 'yesterday' }, 'start_time'],
    [{ start_time: '5', end_time: '5' }, 'end_time'],
    [{ start_time: '5', bucket_width: '1m' }, 'bucket_width'],
    [{ start_time: '5', limit: '32' }, 'limit'],
    [{ start_time: '5', limit: '0' }, 'limit'],
    [{ start_time: '5', group_by: 'user' }, 'group_by'],
    [{ start_time: '5', batch: 'maybe' }, 'batch'],
    [{ start_time: '5', page: 'page_x' }, 'page'],
    [{ start_time: '5', models: Array.from({ length: 101 }, () => 'm') }, 'models'],
  ])('of %j is refused for its %s', (query, name) => {
    const parsed = usageQuerySchema.safeParse(query);
    expect(parsed.error?.issues[0]?.path[0]).toBe(name);
  });
});
