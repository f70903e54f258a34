import type { Phase } from '@sluice/contract/admin';

/** A piece of the bar: how long it took, and how wide it is drawn. */
export interface Piece {
  phase: Phase;
  ms: number;
  /** Percent of the bar. All pieces together take all of it. */
  width: number;
  isOpen: boolean;
}

/** No piece is narrower, in percent, so that a very short one can still be seen and pointed at. */
const narrowest = 1;

/** Lays phases out to scale. The last one of an open response reaches to `now`. */
export function piecesOf(phases: readonly Phase[], now: number): Piece[] {
  const spans = phases.map((phase) => ({ phase, ms: Math.max(0, (phase.to ?? now) - phase.from) }));
  const all = spans.reduce((sum, { ms }) => sum + ms, 0);
  const wanted = spans.map(({ ms }) =>
    Math.max(narrowest, all === 0 ? 100 / spans.length : (ms / all) * 100),
  );
  const sum = wanted.reduce((total, each) => total + each, 0);
  return spans.map(({ phase, ms }, at) => ({
    phase,
    ms,
    width: ((wanted[at] ?? 0) / sum) * 100,
    isOpen: phase.to === null,
  }));
}
