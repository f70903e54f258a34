import type { Cell } from '../record/cells.ts';
import type { StoreAccess } from '../record/store-access.ts';

/** Ids of responses without an end, in the order in which their time runs out. Pages go by rank, as those of `survey` do. */
export function openIds(
  { redis, keys }: StoreAccess,
  cell: Cell,
  { offset, count }: { offset: number; count: number },
): Promise<string[]> {
  return redis.zrange(keys.inCell(cell).open, String(offset), String(offset + count - 1));
}

/** Which of these responses have no end, in their order. */
export async function areOpen(
  { redis, keys }: StoreAccess,
  cell: Cell,
  ids: readonly string[],
): Promise<boolean[]> {
  if (ids.length === 0) return [];
  const scores = await redis.zmscore(keys.inCell(cell).open, ...ids);
  return scores.map((score) => score !== null);
}
