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
  const all = Promise.all(starts);
  let isLate = false;
  for (const each of starts) each.catch((error: unknown) => isLate && onLate(error));
  all.catch(() => undefined); // It is raced below, and each of the others is listened to.
  await Promise.race([all, Promise.any(starts)]);
  const over = new AbortController();
  const isSoon = pause(soonMs, undefined, { signal: over.signal }).catch(() => undefined);
  try {
    await Promise.race([all, isSoon]);
  } finally {
    isLate = true;
    over.abort();
  }
}
