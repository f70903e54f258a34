import { readFileSync } from 'node:fs';
import { countedLimits, tenantLimits } from '@sluice/contract/tenant-limits';
import { expect, it } from 'vitest';
import { printLimits } from './limits.ts';

const tokens = { input: 10, output: 90, mostInput: undefined };
const service = { queued: 5, queuedBytes: 5000 };
const scripts = ['./enter.lua', './budgets.lua', '../../response-store/src/transitions/accept.lua']
  .map((file) => readFileSync(new URL(file, import.meta.url), 'utf8'))
  .join('');

it.each(countedLimits)('tells the accept of %s, by a name that its Lua reads', (name) => {
  const { wire, unit } = tenantLimits[name];
  const words = printLimits({ [name]: 7, service }, tokens);
  expect(words).toBe(`${wire}=${unit === 'money' ? 7e9 : 7} input_tokens=10 output_tokens=90`);
  expect(scripts).toMatch(new RegExp(`\\b(limits|own)\\.${wire}\\b|limit = '${wire}'`));
});

it('tells the accept of the budget of the key, in billionths of the currency', () => {
  expect(printLimits({ service, key: { tokensPerDay: 5, spendPerMonth: 0.25 } }, tokens)).toBe(
    'key_tokens_per_day=5 key_spend_per_month=250000000 input_tokens=10 output_tokens=90',
  );
});

it('says nothing where nothing but the service limits a response', () => {
  expect(printLimits({ service, maxOutputTokens: 5, readsPerMinute: 9 }, tokens)).toBe('');
});

it('has what the model and the request allow beside the limits', () => {
  expect(printLimits({ service }, { ...tokens, mostInput: 400, truncates: true })).toBe(
    'most_input=400 input_tokens=10 output_tokens=90 truncates=1',
  );
});
