import { expect, it } from 'vitest';
import { parseCommandLine } from './command-line.ts';

const parse = (...flags: string[]) => parseCommandLine(flags, 'page.md');

it('runs all but the soak without flags, and writes the page', () => {
  expect(parse()).toMatchObject({
    parts: ['matrix', 'cells', 'mutants', 'corpus', 'hostile', 'mix', 'outage', 'events', 'batch'],
    size: 'small',
    tries: 4,
    output: 'page.md',
  });
  expect(parse('--all', '--minutes', '60')).toMatchObject({
    parts: ['matrix', 'cells', 'mutants', 'corpus', 'hostile', 'mix', 'outage', 'events', 'batch', 'soak'],
    soakMinutes: 60,
    output: 'page.md',
  });
});

it('prints the page of a run that is not whole', () => {
  expect(parse('--only', 'api killed', '--tries', '2')).toMatchObject({
    parts: ['matrix'],
    tries: 2,
    output: undefined,
  });
  expect(parse('--soak', '--minutes', '10')).toMatchObject({
    parts: ['soak'],
    soakMinutes: 10,
    output: undefined,
  });
});

it('writes the sections of the parts that ran into the page, where that is wanted', () => {
  expect(parse('--hostile', '--renew')).toMatchObject({
    parts: ['hostile'],
    output: 'page.md',
    renews: true,
  });
});

it('names the flag of a wrong value', () => {
  expect(() => parse('--size', 'huge')).toThrow("--size must be one of small, medium, large, not 'huge'");
  expect(() => parse('--minutes', '0')).toThrow("--minutes must be a number above 0, not '0'");
  expect(() => parse('--seed', 'x')).toThrow('--seed');
});
