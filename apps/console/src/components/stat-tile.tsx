import type { ReactNode } from 'react';
import classes from './stat-tile.module.css';

interface StatTileProps {
  label: string;
  value: ReactNode;
  /** A quiet line under the value. */
  hint?: ReactNode;
  /** `warn` and `bad` colour the value. */
  tone?: 'plain' | 'good' | 'warn' | 'bad';
  /** A `Sparkline`, drawn along the bottom. */
  chart?: ReactNode;
}

/** One figure with its name. Several stand in a `StatRow`. */
export function StatTile({ label, value, hint, tone = 'plain', chart }: StatTileProps) {
  return (
    <div className={classes['tile']}>
      <dt className={classes['label']}>{label}</dt>
      <dd className={classes['value']} data-tone={tone}>
        {value}
      </dd>
      {hint !== undefined && <dd className={classes['hint']}>{hint}</dd>}
      {chart !== undefined && <dd className={classes['chart']}>{chart}</dd>}
    </div>
  );
}

/** A row of tiles that wraps. */
export function StatRow({ children }: { children: ReactNode }) {
  return <dl className={classes['row']}>{children}</dl>;
}
