import type { Batch } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { openBatchProgress, progressLine } from './batch-progress.ts';

const aBatch = (status: Batch['status'], total: number, completed: number, failed = 0) =>
  ({ status, request_counts: { total, completed, failed } }) as Batch; // All that is shown.

describe('the progress of a batch', () => {
  it.each([
    [aBatch('validating', 0, 0), 'The lines are being looked at.'],
    [aBatch('in_progress', 2_000, 500), '██████░░░░░░░░░░░░░░░░░░ 25 %  500 of 2,000 lines'],
    [aBatch('in_progress', 3, 1, 1), '████████████████░░░░░░░░ 66 %  2 of 3 lines, 1 failed'],
    [aBatch('finalizing', 2, 2), '████████████████████████ 100 %  2 of 2 lines, finalizing'],
  ])('is one line', (batch, line) => {
    expect(progressLine(batch)).toBe(line);
  });

  it('is drawn on a terminal alone', () => {
    const written: string[] = [];
    const stream = { columns: 80, write: (text: string) => written.push(text) > 0 };
    openBatchProgress({ ...stream, isTTY: false }).show(aBatch('in_progress', 2, 1));
    expect(written).toEqual([]);
    openBatchProgress({ ...stream, isTTY: true }).show(aBatch('in_progress', 2, 1));
    expect(written.join('')).toContain('1 of 2 lines');
  });
});
