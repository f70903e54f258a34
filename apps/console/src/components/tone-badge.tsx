import type { ReactNode } from 'react';
import classes from './tone-badge.module.css';

export type Tone = 'good' | 'info' | 'warn' | 'bad' | 'quiet';

/** The state of something that is no response, by colour and by word. */
export function ToneBadge({ tone, title, children }: { tone: Tone; title?: string; children: ReactNode }) {
  return (
    <span className={classes['badge']} data-tone={tone} title={title}>
      {children}
    </span>
  );
}
