import type { Phase } from '@sluice/contract/admin';
import { describe, expect, it } from 'vitest';
import { piecesOf } from './phase-bar.ts';

const phase = (kind: Phase['kind'], from: number, to: number | null): Phase => ({
  kind,
  from,
  to,
  because: null,
});

describe('the bar of a response', () => {
  it('is to scale, and takes all of its width', () => {
    const pieces = piecesOf(
      [phase('waiting', 0, 300), phase('starting', 300, 400), phase('generating', 400, 1000)],
      0,
    );
    expect(pieces.map(({ ms }) => ms)).toEqual([300, 100, 600]);
    expect(pieces.map(({ width }) => width)).toEqual([30, 10, 60]);
  });

  it('keeps what took hardly any time wide enough to be seen', () => {
    const [first, second] = piecesOf([phase('waiting', 0, 1), phase('generating', 1, 1_000_001)], 0);
    expect(first?.width).toBeGreaterThan(0.9);
    expect((first?.width ?? 0) + (second?.width ?? 0)).toBeCloseTo(100);
  });

  it('reaches to now while it is open', () => {
    expect(piecesOf([phase('waiting', 100, null)], 350)).toMatchObject([
      { ms: 250, width: 100, isOpen: true },
    ]);
  });

  it('shares the width out when nothing took any time', () => {
    expect(
      piecesOf([phase('waiting', 5, 5), phase('generating', 5, 5)], 5).map(({ width }) => width),
    ).toEqual([50, 50]);
  });

  it('is empty without phases', () => {
    expect(piecesOf([], 0)).toEqual([]);
  });
});
