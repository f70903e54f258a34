import { costAgainstParsing } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { readDirectives } from './directives.ts';

describe('readDirectives', () => {
  it('takes the directives out of the text', () => {
    const { directives, text } = readDirectives('Go [[sluice: tokens=5]] on [[sluice: hang]]');
    expect(directives).toMatchObject({ tokens: 5, hang: true });
    expect(text).toBe('Go on');
  });

  it('reads a directive after one that is never closed', () => {
    const { directives, text } = readDirectives('[[sluice: hang [[sluice: tokens=5]]');
    expect(directives).toMatchObject({ tokens: 5, hang: false });
    expect(text).toBe('[[sluice: hang');
  });

  it('ends soon on a text full of directives that are never closed', () => {
    const text = '[[sluice:'.repeat(1_100_000);
    expect(costAgainstParsing([text], () => () => readDirectives(text))).toBeLessThan(1_000);
  });
});
