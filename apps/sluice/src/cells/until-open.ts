import { FatalError, pause } from '@sluice/runtime';
import { cellRows } from '@sluice/operator';
import type { Operator } from '../queues/operator.ts';

/** How often the command looks whether the cell is open, in milliseconds, and for how long. */
const lookEveryMs = 1_000;
const withinMs = 120_000;

/**
 * Waits until a cell that was added takes new responses. On a terminal it says who it waits for.
 *
 * @throws {FatalError} that names the processes that do not reach it. The cell still opens when they do.
 */
export async function untilOpen(operator: Operator, name: string): Promise<void> {
  const { signal } = new AbortController();
  const giveUpAt = performance.now() + withinMs;
  const { stderr } = process;
  for (;;) {
    await operator.cellWatch.look();
    const row = (await cellRows(operator)).find(({ cell }) => cell === name);
    if (!row) throw new FatalError(`The cell '${name}' was removed meanwhile.`);
    if (row.state === 'open') break;
    const waitsFor = row.waits_for.join(', ');
    if (performance.now() > giveUpAt)
      throw new FatalError(
        waitsFor === ''
          ? `The cell '${name}' is not open yet: no process of the service has opened it. It opens once one runs.`
          : `The cell '${name}' is not open yet: ${waitsFor} cannot reach it. It opens once they do; 'sluice cells remove ${name}' takes it away.`,
      );
    if (stderr.isTTY)
      stderr.write(`\r\u001b[K${waitsFor === '' ? 'Every process has reached it' : `Waits for ${waitsFor}`}`);
    await pause(lookEveryMs, signal);
  }
  if (stderr.isTTY) stderr.write('\r\u001b[K');
}
