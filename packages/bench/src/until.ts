import { setTimeout as pause } from 'node:timers/promises';

const pollMs = 50;

/**
 * Waits until something is so. `deadline` is a time of `performance.now()`.
 *
 * @throws {Error} that says what has not come true by then.
 */
export async function until(what: string, isSo: () => Promise<boolean>, deadline: number): Promise<void> {
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`the scenario has no time left, and not yet: ${what}`);
    await pause(pollMs);
  }
}
