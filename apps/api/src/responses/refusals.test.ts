import { expect, it } from 'vitest';
import { overBudget } from './refusals.ts';

it.each([
  [false, 'The account may take 1,000 tokens a day. 400 tokens are left, and the request may take more.'],
  [
    true,
    'The account may take 1,000 tokens a day, in equal parts of several cells. 400 tokens are left in one of them, and the request may take more.',
  ],
])('says of a budget that is divided among cells (%s) what all of it is', (isDivided, sentence) => {
  const spent = { name: 'tokensPerDay', isOfKey: false, limit: 1_000, left: 400, isDivided } as const;
  const use = { requests: undefined, tokens: undefined };
  const { message } = overBudget({ kind: 'over_budget', spent, use }, { now: 0, currency: 'USD' });
  expect(message).toBe(`${sentence} The next day begins at 1970-01-02T00:00:00Z.`);
});
