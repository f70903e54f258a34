import { readFileSync } from 'node:fs';
import { countedLimits, tenantLimits } from '@sluice/contract/tenant-limits';
import { expect, it } from 'vitest';
import { printLimits } from './limits.ts';

const tokens = { input: 10, output: 90, mostInput: undefined };
const service = { queued: 5, queuedBytes: 5000 };
const scripts = ['./enter.lua', '../../response-store/src/transitions/accept.lua']
  .map((file) => readFileSync(new URL(file, import.meta.url), 'utf8'))
  .join('');

it.each(countedLimits)('tells the accept of %s, by a name that its Lua reads', (name) => {
  const { wire } = tenantLimits[name];
  const words = printLimits({ [name]: 7, service }, tokens);
  expect(words).toBe(`${wire}=7 input_tokens=10 output_tokens=90`);
  expect(scripts).toMatch(new RegExp(`\\b(limits|own)\\.${wire}\\b`));
});

it('says nothing where nothing but the service limits a response', () => {
  expect(printLimits({ service, maxOutputTokens: 5, readsPerMinute: 9 }, tokens)).toBe('');
});

it('has what the model and the request allow beside the limits', () => {
  expect(printLimits({ service }, { ...tokens, mostInput: 400, truncates: true })).toBe(
    'most_input=400 input_tokens=10 output_tokens=90 truncates=1',
  );
});
