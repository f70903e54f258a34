import { costAgainstParsing } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { decodeJson, parseJson } from './parse-json.ts';

const parse = (text: string) => parseJson(decodeJson(Buffer.from(text)));
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

describe('a JSON body', () => {
  it.each([
    '{}',
    '[]',
    '7',
    '"a:b"',
    '{"a":{"b":[{"c":":"}]}}',
    '{"a\\":\\"b":":","\\\\":"\\\\\\"","":0}',
    '{"a" : 1 , "b"\n:\t2}',
    '{"\\u0061":"\\ud83d\\ude00","b":"\u{1F600}\u2028"}',
    '{"constructor":{"prototype":1},"toString":2,"hasOwnProperty":3}',
    '[[1,2,{"x":null}],{"y":[true,false]}]',
  ])('%s is what JSON makes of it', (text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  it.each([
    '{"a":1,"a":2}',
    '{"a":{"b":1,"b":1}}',
    '[{"a":1},{"a":1,"\\u0061":2}]',
    '{"a":1,"b":2,"a":3,"c":4}',
  ])('%s names a member twice', (text) => {
    expect(() => parse(text)).toThrow(/twice/);
  });

  it('may be 64 levels deep and no deeper', () => {
    expect(parse(nested(64))).toEqual(JSON.parse(nested(64)));
    expect(() => parse(nested(66))).toThrow(/deeper/);
    expect(() => parse(nested(100_000))).toThrow(/deeper|not valid/);
  });

  it('has a bound for how much is in it', () => {
    expect(() => parse(`[${'0,'.repeat(200_000)}0]`)).toThrow(/more than 10000 members/);
  });

  it('of nothing but quotes and backslashes takes no time', () => {
    const text = JSON.stringify({
      a: '\\"'.repeat(500_000),
      b: '\\'.repeat(500_000),
      c: ':'.repeat(500_000),
    });
    // A quadratic scan would take minutes.
    expect(costAgainstParsing([text], () => () => parse(text))).toBeLessThan(1_000);
  });

  it('is never quoted in the error', () => {
    for (const text of ['{"secret":', '{"secret":1,"secret":2}', '{"__proto__":"secret"}']) {
      expect(() => parse(text)).toThrow(/^(?!.*secret)/);
    }
  });

  it('with a byte order mark is taken as what follows it', () => {
    expect(parse('\uFEFF{"a":1}')).toEqual({ a: 1 });
  });
});
