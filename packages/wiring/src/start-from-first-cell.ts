import { setTimeout as pause } from 'node:timers/promises';

/** How long a start waits for the first cell where there are others, in milliseconds. */
const firstCellMs = 5_000;

/**
 * Starts what the first cell has, and resolves when that has started. Where there are other cells and the first one is away, it resolves soon all the same:
 * the process serves the others, and what is started follows when the first one is back. `onLate` is told of an error after that.
 *
 * @returns whether it has started.
 */
export async function startFromFirstCell(
  cellCount: number,
  start: () => Promise<void>,
  onLate: (error: unknown) => void,
): Promise<boolean> {
  let hasStarted = false;
  const started = start().then(() => {
    hasStarted = true;
  });
  if (cellCount === 1) {
    await started;
    return true;
  }
  let isLate = false;
  started.catch((error: unknown) => isLate && onLate(error));
  const over = new AbortController();
  const isSoon = pause(firstCellMs, undefined, { signal: over.signal }).catch(() => undefined);
  try {
    await Promise.race([started, isSoon]);
  } finally {
    isLate = true;
    over.abort();
  }
  return hasStarted;
}
