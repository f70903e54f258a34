import { useEffect, useEffectEvent, useState } from 'react';
import type { LiveEvent } from './event-stream.ts';
import { type LiveState, liveStates } from './live-states.ts';
import { adminUrl, type Search } from './request.ts';
import { followWhileVisible } from './visible-connection.ts';

export interface LiveOptions {
  search?: Search;
  /** False: no connection, for example while a part of its path is not known. */
  enabled?: boolean;
}

/**
 * Calls `onEvent` for every server-sent event of a path of the admin API, such as `/overview/events`, and returns the state
 * of the connection. It pauses while the tab is hidden, and afterwards goes on after the last event that had an id.
 */
export function useLive(
  path: string,
  onEvent: (event: LiveEvent) => void,
  options: LiveOptions = {},
): LiveState {
  const { search, enabled = true } = options;
  const [state, setState] = useState<LiveState>('connecting');
  const handle = useEffectEvent(onEvent);
  const url = adminUrl(path, search);

  useEffect(() => {
    if (!enabled) return undefined;
    const connection = Symbol(url);
    const stop = followWhileVisible({
      url,
      page: document,
      onEvent: handle,
      onState: (next) => {
        setState(next);
        liveStates.set(connection, next);
      },
    });
    return () => {
      stop();
      liveStates.set(connection, undefined);
    };
  }, [url, enabled]);

  return state;
}
