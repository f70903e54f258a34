import { describe, expect, it } from 'vitest';
import { samplesOf, valueOf } from './prometheus-text.ts';

const metric = 'vllm:num_requests_waiting';

describe('a metric of a page', () => {
  it.each([
    ['with labels', `${metric}{engine="0",model_name="m"} 3.0`, 3],
    ['without labels', `${metric} 3`, 3],
    ['with a time', `${metric}{model_name="m"} 3 1700000000000`, 3],
    ['with spaces', `${metric} { model_name = "m" , }  3`, 3],
    ['with an exponent', `${metric}{model_name="m"} 1.2e+01`, 12],
    ['with braces and quotes in a label', `${metric}{a="x}\\" 9",model_name="m"} 3`, 3],
    [
      'of several engines',
      `${metric}{engine="0",model_name="m"} 1\n${metric}{engine="1",model_name="m"} 2`,
      3,
    ],
    ['of several models', `${metric}{model_name="m"} 1\n${metric}{model_name="other"} 9`, 1],
    ['of another name, as with adapters', `${metric}{model_name="base"} 1\n${metric}{model_name="b2"} 2`, 3],
    ['among others and comments', `# HELP ${metric} Waiting.\n${metric}_total 7\nup 1\n${metric} 3\n`, 3],
    ['with lines that end as on Windows', `${metric} 3\r\n`, 3],
    ['that is infinite as in no number of ours', `${metric} NaN\n${metric} 3`, 3],
  ])('%s', (_, page, expected) => {
    expect(valueOf(samplesOf(page, metric), 'm')).toBe(expected);
  });

  it.each([
    ['an empty page', ''],
    ['a page without it', 'up 1'],
    ['a page of something else', '<html><body>vllm:num_requests_waiting is 3</body></html>'],
    ['a sample without a value', `${metric}{model_name="m"}`],
    ['a sample that is cut off', `${metric}{model_name="m`],
  ])('has no value in %s', (_, page) => {
    expect(valueOf(samplesOf(page, metric), 'm')).toBeUndefined();
  });

  it('is found in a large page in time', () => {
    const page = `${`${metric}{${'a="b",'.repeat(50)}\n`.repeat(5_000)}${metric} 3`;
    expect(valueOf(samplesOf(page, metric), 'm')).toBe(3);
  });
});
