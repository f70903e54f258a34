import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { barLine, openProgressBar } from './progress-bar.ts';
import type { RunningPart } from '../load/run-load.ts';
import { RunTally } from './tally.ts';

function partOf(change: Partial<RunningPart> = {}): RunningPart {
  const tally = new RunTally();
  Object.assign(tally.all, { answered: 40, failed: 2 });
  return {
    name: 'load',
    extent: { requests: 100 },
    counts: { begun: 52, outstanding: 10, isSent: false },
    tally,
    ...change,
  };
}

const bar = (part: RunningPart, isStopping = false) => barLine(part, { elapsedMs: 4000, isStopping });

describe('the progress bar', () => {
  it('shows how far a run is and how long it will take', () => {
    expect(bar(partOf())).toBe(
      'load    ██████████░░░░░░░░░░░░░░  42 %  40 answered, 2 errors, 10 under way, 10.0/s, 6 s left',
    );
  });

  it('goes by the time when the run does', () => {
    expect(bar(partOf({ extent: { durationMs: 8000 } }))).toMatch(/ 50 % .* 4 s left$/);
    expect(bar(partOf({ extent: { durationMs: 2000 } }))).toMatch(/ 100 % /);
  });

  it('says what it waits for', () => {
    expect(bar(partOf({ counts: { begun: 100, outstanding: 3, isSent: true } }))).toMatch(/, all sent$/);
    expect(bar(partOf(), true)).toMatch(/Ctrl-C again ends at once$/);
  });

  it('draws one line on a terminal and clears it', () => {
    const { stream, written } = streamOf(true);
    const open = openProgressBar(stream);
    open.show(partOf());
    open.stopping();
    open.close();
    expect(written()).toMatch(/^\rload .*\u001b\[K\rload .*\u001b\[K\r\u001b\[K$/);
    expect(
      Math.max(
        ...written()
          .split('\r')
          .map(({ length }) => length),
      ),
    ).toBeLessThan(64);
  });

  it('draws nothing on anything else', () => {
    const { stream, written } = streamOf(false);
    const open = openProgressBar(stream);
    open.show(partOf());
    open.close();
    expect(written()).toBe('');
  });

  it('says once in a line what it waits for, without a terminal', () => {
    const { stream, written } = streamOf(false);
    const open = openProgressBar(stream);
    open.show(partOf());
    open.stopping();
    open.stopping();
    open.close();
    expect(written()).toBe('sluice: waiting for requests in flight; Ctrl-C again ends at once\n');
  });
});

function streamOf(isTTY: boolean): { stream: NodeJS.WriteStream; written: () => string } {
  const through = new PassThrough();
  // The bar uses these members alone.
  const stream = Object.assign(through, { isTTY, columns: 60 }) as unknown as NodeJS.WriteStream;
  return { stream, written: () => String(through.read() ?? '') };
}
