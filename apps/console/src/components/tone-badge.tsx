import type { ReactNode } from 'react';
import classes from './tone-badge.module.css';

export type Tone = 'good' | 'info' | 'warn' | 'partial' | 'bad' | 'quiet';

interface ToneBadgeProps {
  tone: Tone;
  title?: string | undefined;
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

/** The words of a state, with a meaning where the word does not say enough. */
export type StateWords = readonly [tone: Tone, word: string, meaning?: string];

/** The badge of one of several states. */
export function StateBadge({ words, isBreathing = false }: { words: StateWords; isBreathing?: boolean }) {
  const [tone, word, meaning] = words;
  return (
    <ToneBadge tone={tone} title={meaning} isBreathing={isBreathing}>
      {word}
    </ToneBadge>
  );
}
