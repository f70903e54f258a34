import { expect, it } from 'vitest';
import { isLong, printLong } from './print-long.ts';

const long = 'x'.repeat(300_000);
const logprobs = Array.from({ length: 1_000 }, (_, at) => ({
  token: `"${at}`,
  logprob: -at,
  bytes: [at],
  top_logprobs: [],
}));

const values: Record<string, unknown> = {
  'a text': long,
  'texts in a list': { output: [{ content: [{ text: long }, { text: 'short' }, { text: `${long}\n` }] }] },
  'what is escaped': { text: '"\\\n\u0001\u007f\u2028'.repeat(60_000) },
  'characters of several bytes': `é${'😀'.repeat(300_000)}`,
  'halves of pairs': '\ud83d'.repeat(300_000),
  'tokens and how likely they are': { text: long, logprobs, empty: [], undefined },
  'a long list of other things': { text: long, other: Array.from({ length: 500 }, (_, at) => [at]) },
  'many short things': Array.from({ length: 20_000 }, (_, at) => ({ at, text: 'word', none: undefined })),
  'long and short ones in turn': [1, long, 2, [long, [], {}], undefined, { long, last: null }, 'end'],
  nothing: null,
};

it.each(Object.entries(values))('prints as JSON.stringify does: %s', async (_name, value) => {
  const printed = (await printLong(value)).toString();
  // A difference of many megabytes is not worth reading.
  expect(printed === JSON.stringify(value)).toBe(true);
});

it.each<[string, unknown]>([
  ['a text', { text: 'x'.repeat(4 * 1024 * 1024) }],
  ['a list', { items: Array.from({ length: 60_000 }, () => ({ text: 'x'.repeat(100) })) }],
])('lets the event loop turn between pieces of %s', async (_name, value) => {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await printLong(value);
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(16);
});

it.each([
  ['a long text', true, { item: { text: long } }],
  ['many texts', true, Array.from({ length: 1_000 }, () => 'x'.repeat(300))],
  ['many tokens', true, { logprobs: Array.from({ length: 20_000 }, () => logprobs[0]) }],
  ['a delta', false, { type: 'response.output_text.delta', delta: 'word', logprobs: [] }],
  ['a page of text', false, { item: { text: 'x'.repeat(3_000) } }],
])('knows what is long: %s', (_name, expected, value) => {
  expect(isLong(value)).toBe(expected);
});
