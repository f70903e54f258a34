import type { Batch } from '@sluice/contract';
import { barOf } from '../bar.ts';

export interface BatchProgress {
  /** Says one thing, on a line of its own. */
  say: (line: string) => void;
  /** Shows how far the batch is, on a terminal only. */
  show: (batch: Batch) => void;
  /** Says that nothing is known for the moment, on a terminal only. */
  wait: (reason: string) => void;
  /** Clears the line. */
  close: () => void;
}

/** The progress of a batch on standard error. */
export function openBatchProgress(
  stream: Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'write'>,
): BatchProgress {
  const draw = (line: string) => {
    if (stream.isTTY) stream.write(`\r${line.slice(0, Math.max(20, stream.columns - 1))}\u001b[K`);
  };
  const clear = () => draw('');
  return {
    say(line) {
      clear();
      stream.write(`${line}\n`);
    },
    show: (batch) => draw(progressLine(batch)),
    wait: (reason) => draw(reason),
    close: clear,
  };
}

/** One line that says how far a batch is. */
export function progressLine({ status, request_counts: { total, completed, failed } }: Batch): string {
  if (status === 'validating') return 'The lines are being looked at.';
  const share = total === 0 ? 0 : (completed + failed) / total;
  const facts = [
    `${(completed + failed).toLocaleString('en')} of ${total.toLocaleString('en')} lines`,
    ...(failed > 0 ? [`${failed.toLocaleString('en')} failed`] : []),
    ...(status === 'in_progress' ? [] : [status]),
  ];
  return `${barOf(share)} ${Math.floor(share * 100)} %  ${facts.join(', ')}`;
}
