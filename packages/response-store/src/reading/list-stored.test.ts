import { describe, expect, it } from 'vitest';
import { type ListedResponses, mergeLists } from './list-stored.ts';

const listed = (
  hasMore: boolean,
  ...responses: [id: string, acceptedAt: number, bytes?: number][]
): ListedResponses => ({
  responses: responses.map(([id, acceptedAt, bytes = 0]) => ({ id, acceptedAt, bytes })),
  hasMore,
});
const idsOf = ({ responses }: ListedResponses) => responses.map(({ id }) => id);

describe('the lists of several cells', () => {
  it('are one, newest first, by id within a millisecond', () => {
    const merged = mergeLists([listed(false, ['b', 3], ['a', 1]), listed(false, ['d', 3], ['c', 2])], 10);
    expect(idsOf(merged)).toEqual(['d', 'b', 'c', 'a']);
    expect(merged.hasMore).toBe(false);
  });

  it('end with the page, and say that there is more', () => {
    const merged = mergeLists([listed(true, ['b', 3], ['a', 1]), listed(false, ['d', 4])], 2);
    expect(idsOf(merged)).toEqual(['d', 'b']);
    expect(merged.hasMore).toBe(true);
  });

  it('end where one of them was broken off, since others of it come next', () => {
    const merged = mergeLists([listed(true, ['a1', 5, 3_500_000]), listed(false, ['b1', 1, 2_000])], 10);
    expect(idsOf(merged)).toEqual(['a1']);
    expect(merged.hasMore).toBe(true);
  });
});
