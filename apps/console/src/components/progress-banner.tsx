import { Progress } from '@mantine/core';
import type { ReactNode } from 'react';
import { formatCount } from '../format/numbers.ts';
import classes from './progress-banner.module.css';

interface ProgressBannerProps {
  /** The name of the act: "Cancelling responses". */
  title: ReactNode;
  done: number;
  total: number;
  tone?: 'running' | 'done' | 'failed';
  /** Beside the figures: how many were skipped or failed, or why it stopped. */
  note?: ReactNode;
  /** Buttons: stop it, dismiss it. */
  actions?: ReactNode;
}

/** How far something with many steps is. */
export function ProgressBanner({ title, done, total, tone = 'running', note, actions }: ProgressBannerProps) {
  const percent = total === 0 ? 100 : Math.min(100, (done / total) * 100);
  const color = tone === 'failed' ? 'red' : tone === 'done' ? 'green' : 'accent';
  return (
    <div className={classes['root']} data-tone={tone} role="status">
      <div className={classes['line']}>
        <strong>{title}</strong>
        <span className={classes['figures']}>
          {formatCount(done)} of {formatCount(total)}
        </span>
        {note !== undefined && <span className={classes['note']}>{note}</span>}
        {actions !== undefined && <div className={classes['actions']}>{actions}</div>}
      </div>
      <Progress value={percent} color={color} size="sm" aria-label={`${Math.round(percent)} percent done`} />
    </div>
  );
}
