import type { Phase } from '@sluice/contract/admin';
import { useNow } from '../../components/times.tsx';
import { formatDuration } from '../../format/times.ts';
import { piecesOf } from './phase-bar.ts';
import classes from './phase-bar.module.css';
import { phaseReason, phaseTitle } from './wait-words.ts';

/** Where the time of a response went: a bar to scale, and each piece of it in words. */
export function PhaseBar({ phases }: { phases: readonly Phase[] }) {
  const pieces = piecesOf(phases, useNow());
  if (pieces.length === 0) return <p className={classes['none']}>Its phases are not known.</p>;
  return (
    <>
      <div className={classes['bar']} aria-hidden="true">
        {pieces.map(({ phase, ms, width, isOpen }) => (
          <span
            key={phase.from}
            className={classes['piece']}
            data-kind={phase.kind}
            data-open={isOpen}
            style={{ width: `${width}%` }}
            title={`${phaseTitle(phase)}: ${formatDuration(ms)}`}
          />
        ))}
      </div>
      <ol className={classes['list']}>
        {pieces.map(({ phase, ms, isOpen }) => (
          <li key={phase.from} className={classes['item']}>
            <span className={classes['swatch']} data-kind={phase.kind} aria-hidden="true" />
            <span className={classes['title']}>{phaseTitle(phase)}</span>
            <span className={classes['time']}>
              {formatDuration(ms)}
              {isOpen && ' so far'}
            </span>
            <span className={classes['reason']}>{phaseReason(phase)}</span>
          </li>
        ))}
      </ol>
    </>
  );
}
