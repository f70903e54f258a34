import { describe, expect, it } from 'vitest';
import { LinearRegExp } from './linear-reg-exp.ts';

describe('a pattern', () => {
  it.each([
    ['^[a-z0-9]+(-[a-z0-9]+)*$', 'a-slug-9', 'a--b'],
    ['\\d{2}/\\d{2}', 'on 01/02', '1/2'],
    ['^\\u00e9$', 'é', 'e'],
    ['^(?<year>\\d{4})$', '2026', '26'],
    ['^.$', '🙂', '🙂🙂'],
    ['^\\p{L}+$', 'Straße', 'a1'],
    ['^(?:a|b)?$', '', 'c'],
  ])('%s matches what it does elsewhere', (pattern, matching, other) => {
    const linear = new LinearRegExp(pattern);
    expect([linear.test(matching), linear.test(other)]).toEqual([true, false]);
    const native = new RegExp(pattern, 'u');
    expect([native.test(matching), native.test(other)]).toEqual([true, false]);
  });

  it('of nested quantifiers ends, however long the text is', () => {
    expect(new LinearRegExp('^(a+)+$').test(`${'a'.repeat(100_000)}!`)).toBe(false);
  });

  it('that takes an engine which goes back is an error', () => {
    expect(() => new LinearRegExp('^(?=a)')).toThrowError(/invalid or unsupported/);
  });
});
