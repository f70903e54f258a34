import { describe, expect, it } from 'vitest';
import { textProblems, tokensOfAnswer } from './stamped-upstream.ts';

const tokens = (call: number, ...numbers: number[]) =>
  numbers.map((token) => `p1.${call}.${token} `).join('');
const whole = Array.from({ length: tokensOfAnswer }, (_, at) => at + 1);

describe('the text of an answer', () => {
  it.each([
    ['a whole answer', tokens(1, ...whole), true],
    ['the whole answer of a second call', tokens(2, ...whole), true],
    ['the beginning of an answer', tokens(1, 1, 2, 3), false],
    ['nothing yet', '', false],
  ])('may be %s', (_, text, isWhole) => {
    expect(textProblems(text, 'p1', isWhole)).toEqual([]);
  });

  it.each([
    ['has a gap', tokens(1, 1, 3), false],
    ['repeats a token', tokens(1, 1, 2, 2, 3), false],
    ['is out of order', tokens(1, 2, 1), false],
    ['begins in the middle', tokens(1, 4, 5), false],
    ['mixes two calls', `${tokens(1, 1, 2, 3)}${tokens(2, 4, 5, 6, 7, 8)}`, true],
    ['has two answers', `${tokens(1, 1, 2, 3)}${tokens(2, ...whole)}`, true],
    ['is the answer to another prompt', tokens(1, 1).replace('p1', 'p2'), false],
    ['is called whole and is not', tokens(1, 1, 2, 3), true],
    ['is called whole and is empty', '', true],
    ['breaks off inside of a token', tokens(1, 1, 2).slice(0, -3), false],
  ])('is a problem if it %s', (_, text, isWhole) => {
    expect(textProblems(text, 'p1', isWhole)).toHaveLength(1);
  });
});
