import type { UsagePage, UsageResult } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { currencyOf, measures, usageLines, usageRows } from './usage-rows.ts';

const aResult = (model: string, tokens: number, more: Partial<UsageResult> = {}) =>
  ({
    model,
    num_model_requests: 1,
    num_failed: 0,
    input_tokens: tokens,
    input_cached_tokens: 0,
    output_tokens: 1,
    slot_seconds: 2,
    amount: { value: 0.5, currency: 'usd' },
    ...more,
  }) as UsageResult; // All that is shown.

const page = (...buckets: UsageResult[][]): UsagePage => ({
  object: 'page',
  data: buckets.map((results, at) => ({
    object: 'bucket',
    start_time: at * 3_600,
    end_time: (at + 1) * 3_600,
    results,
  })),
  has_more: false,
  next_page: null,
});

describe('what groups took', () => {
  it('is summed up over the buckets, the most tokens first', () => {
    const rows = usageRows(
      page([aResult('a', 5), aResult('b', 9)], [aResult('a', 7, { num_failed: 1 })]),
      'model',
    );
    expect(rows).toEqual([
      { name: 'a', responses: 2, failed: 1, input: 12, cached: 0, output: 2, slotSeconds: 4, spend: 1 },
      { name: 'b', responses: 1, failed: 0, input: 9, cached: 0, output: 1, slotSeconds: 2, spend: 0.5 },
    ]);
  });

  it('is a line for each over time', () => {
    const found = page([aResult('a', 5)], [], [aResult('b', 9)]);
    const rows = usageRows(found, 'model');
    expect(usageLines(found, { group: 'model', rows, of: measures[0].of })).toEqual([
      { label: 'b', values: [0, 0, 10] },
      { label: 'a', values: [6, 0, 0] },
    ]);
  });

  it('is one line for all that are too many to be told apart', () => {
    const found = page(Array.from({ length: 9 }, (_, at) => aResult(`m${at}`, 100 - at)));
    const rows = usageRows(found, 'model');
    const lines = usageLines(found, { group: 'model', rows, of: measures[1].of });
    expect(lines.map(({ label }) => label)).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'Others']);
    expect(lines.at(-1)?.values).toEqual([4]);
  });

  it('has the currency of the service', () => {
    expect(currencyOf(page([], [aResult('a', 1)]))).toBe('USD');
    expect(currencyOf(page([]))).toBeUndefined();
  });
});
