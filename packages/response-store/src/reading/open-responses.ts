import type { Cell } from '../record/cells.ts';
import { parseFields, storedNames } from '../record/fields.ts';
import { keysOf, type StoreAccess } from '../record/store-access.ts';

/** Responses whose queues are read at once. Other commands of this process wait that long. */
const pageSize = 1_000;

/** Ids of responses without an end, in the order in which their time runs out. Pages go by rank, as those of `survey` do. */
export function openIds(
  { redis, keys }: StoreAccess,
  cell: Cell,
  { offset, count }: { offset: number; count: number },
): Promise<string[]> {
  return redis.zrange(keys.inCell(cell).open, String(offset), String(offset + count - 1));
}

/** Says of each of these responses, in their order, whether it has no end. */
export async function areOpen(
  { redis, keys }: StoreAccess,
  cell: Cell,
  ids: readonly string[],
): Promise<boolean[]> {
  if (ids.length === 0) return [];
  const scores = await redis.zmscore(keys.inCell(cell).open, ...ids);
  return scores.map((score) => score !== null);
}

/**
 * The encoded names of the queues of all responses without an end, those that no model has any more included. One short command for each
 * response, so this is for an operator who asks.
 */
export async function openQueues(access: StoreAccess, cell: Cell): Promise<string[]> {
  const names = ['queue'] as const;
  const found = new Set<string>();
  for (let offset = 0; ; offset += pageSize) {
    const ids = await openIds(access, cell, { offset, count: pageSize });
    const read = ids.map((id) => access.redis.hmget(keysOf(access, id).record, ...storedNames(names)));
    for (const values of await Promise.all(read)) {
      const { queue } = parseFields(names, values);
      if (queue !== undefined) found.add(queue);
    }
    if (ids.length < pageSize) return [...found];
  }
}
