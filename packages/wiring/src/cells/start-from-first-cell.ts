import { startedWithin } from '@sluice/response-store';
import type { RequestStop } from '@sluice/runtime';

/** How long a start waits for the first cell where there are others, in milliseconds. */
const firstCellMs = 5_000;

/**
 * Starts what the first cell has, and resolves when that has started. Where there are other cells and the first one is away, it resolves soon all the same:
 * the process serves the others, and what is started follows when the first one is back.
 *
 * @param onLate is told of an error after that; see `stopForLate`.
 * @returns whether it has started.
 */
export async function startFromFirstCell(
  cellCount: number,
  start: () => Promise<void>,
  onLate: (error: unknown) => void,
): Promise<boolean> {
  const started = start();
  if (cellCount > 1) return startedWithin(firstCellMs, [started], onLate);
  await started;
  return true;
}

/** Stops a process for an error of a late start, unless `signal` says that it stops. */
export function stopForLate(
  requestStop: RequestStop | undefined,
  signal: AbortSignal,
): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) requestStop?.(error instanceof Error ? error : new Error(String(error)));
  };
}
