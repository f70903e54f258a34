import { expect, it } from 'vitest';
import { uniqueRows } from './unique-rows.ts';

it('has a row that moved to the next page once, and every row that has no key', () => {
  const rows = [{ id: 'a' }, { id: null }, { id: 'b' }, { id: 'a' }, { id: null }];
  expect(uniqueRows(rows, ({ id }) => id).map(({ id }) => id)).toEqual(['a', null, 'b', null]);
});
