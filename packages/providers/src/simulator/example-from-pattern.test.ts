import { describe, expect, it } from 'vitest';
import { exampleFromPattern } from './example-from-pattern.ts';

describe('an example for a pattern', () => {
  it.each([
    '^[a-z0-9]+(-[a-z0-9]+)*$',
    '^[A-Z]{3}-\\d{4}$',
    '^(?:red|green|blue)$',
    '^\\+?[1-9]\\d{1,14}$',
    '^(?<year>\\d{4})-(?<month>0[1-9]|1[0-2])$',
    '^[^a-z]\\W\\S\\s\\D$',
    '^#[0-9a-fA-F]{6}$',
    '^[\\w.-]+@[\\w-]+\\.[a-z]{2,}$',
    '^\\u00e9\\x41\\t\\.\\/$',
    '^[-]?x*?$',
    '^a{2,}b{1,3}c{0}$',
    '^.{5}$',
    'ab',
    '',
    '^🙂+$',
  ])('matches %s', (pattern) => {
    for (const variant of [0, 3]) {
      expect(exampleFromPattern(pattern, variant)).toMatch(new RegExp(pattern, 'u'));
    }
  });

  it.each([
    '^(?=a)b$',
    '(?<!a)b',
    '(a)\\1',
    '\\p{L}',
    '\\bword\\b',
    '[^\\w',
    '(',
    ')',
    'a{1000}b{1000}',
    '('.repeat(70) + ')'.repeat(70),
    'a'.repeat(1_001),
    '[a\\D]',
  ])('is not made for %.40s', (pattern) => {
    expect(exampleFromPattern(pattern, 0)).toBeUndefined();
  });

  it('differs from one variant to the next where it can', () => {
    expect([0, 1, 2].map((variant) => exampleFromPattern('^[ab]+$', variant))).toEqual(['a', 'aa', 'aaa']);
  });

  it('of nested repetitions stays short', () => {
    expect(exampleFromPattern('(((a+)+)+)+', 2)).toHaveLength(81);
    expect(exampleFromPattern('(((a+)+)+)+', 50)).toBeUndefined();
  });
});
