import { Tooltip } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { type LiveState, liveStates } from '../api/live-states.ts';
import classes from './shell.module.css';

const words: Record<LiveState, [word: string, meaning: string]> = {
  live: ['Live', 'This page follows the service as things happen.'],
  connecting: ['Connecting', 'This page is about to follow the service.'],
  paused: ['Paused', 'Nothing is followed while this tab is hidden.'],
  lost: ['Reconnecting', 'The connection was lost. This page may be out of date; it tries again by itself.'],
};

/** The state of the live connections of the page; nothing for a page without. */
export function LiveIndicator() {
  const state = useSyncExternalStore(liveStates.subscribe, () => liveStates.worst);
  if (state === undefined) return null;
  const [word, meaning] = words[state];
  return (
    <Tooltip label={meaning}>
      <span className={classes['live']} data-state={state} role="status">
        <span className={classes['word']}>{word}</span>
      </span>
    </Tooltip>
  );
}
