import { expect, it } from 'vitest';
import { safetyWords } from './safety-words.ts';

it('says of a change that it is not safe yet, and nothing of one that is', () => {
  expect(safetyWords(true)).toBe('');
  expect(safetyWords(false)).toContain('not yet stored this as safely');
});
