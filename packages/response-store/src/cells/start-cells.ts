import { setTimeout as pause } from 'node:timers/promises';

/** How long a start waits for other cells when one is there, in milliseconds: a cell that is away joins when it is there. */
const soonMs = 2_000;

/**
 * Resolves when one cell has started, and all others, or those of them that do so soon. Rejects when one fails meanwhile; `onLate` is told of one
 * that fails later.
 */
export async function untilCellsStart(
  starts: readonly Promise<void>[],
  onLate: (error: unknown) => void,
): Promise<void> {
  await Promise.race([Promise.all(starts), Promise.any(starts)]);
  await startedWithin(soonMs, starts, onLate);
}

/**
 * Resolves when all starts are over, or after so many milliseconds. Rejects when one fails meanwhile; `onLate` is told of one that fails later.
 *
 * @returns whether all are over.
 */
export async function startedWithin(
  withinMs: number,
  starts: readonly Promise<void>[],
  onLate: (error: unknown) => void,
): Promise<boolean> {
  const all = Promise.all(starts).then(() => true);
  let isLate = false;
  for (const each of starts) each.catch((error: unknown) => isLate && onLate(error));
  all.catch(() => undefined); // It is raced below, and each start is listened to.
  const over = new AbortController();
  const isSoon = pause(withinMs, false, { signal: over.signal }).catch(() => false);
  try {
    return await Promise.race([all, isSoon]);
  } finally {
    isLate = true;
    over.abort();
  }
}
