import type { ReactNode } from 'react';
import classes from './tone-badge.module.css';

export type Tone = 'good' | 'info' | 'warn' | 'partial' | 'bad' | 'quiet';

interface ToneBadgeProps {
  tone: Tone;
  title?: string;
  /** Whether its dot breathes, because something is under way. */
  isBreathing?: boolean;
  children: ReactNode;
}

/** The state of something, by colour and by word. */
export function ToneBadge({ tone, title, isBreathing = false, children }: ToneBadgeProps) {
  return (
    <span
      className={classes['badge']}
      data-tone={tone}
      data-breathing={isBreathing || undefined}
      title={title}
    >
      {children}
    </span>
  );
}
