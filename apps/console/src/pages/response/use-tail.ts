import type { TailEnd, TailEvent } from '@sluice/contract/admin';
import { useCallback, useEffect, useRef, useState } from 'react';
import { readEventStream } from '../../api/event-stream.ts';
import { adminUrl } from '../../api/request.ts';
import { emptyLog, takeEvents, type TailLog } from './tail-log.ts';

export type TailState = 'stopped' | 'connecting' | 'live' | 'cut' | 'over' | 'failed';

export interface Tail {
  state: TailState;
  log: TailLog;
  error: unknown;
  /** Begins behind the event with this number; -1 is before the first. */
  start: (after: number, withContent: boolean) => void;
  stop: () => void;
  /** Breaks the connection, and makes another one a moment later that goes on behind the last event that arrived. */
  cutAndResume: () => void;
}

/** Long enough for an eye to see that it was cut, in milliseconds. */
const cutForMs = 1_200;

/** The events of a response, live. New events are taken in once for each frame of the screen. */
export function useTail(id: string): Tail {
  const [state, setState] = useState<TailState>('stopped');
  const [log, setLog] = useState<TailLog>(emptyLog(-1));
  const [error, setError] = useState<unknown>();
  const connection = useRef<AbortController>(undefined);
  const last = useRef(-1);
  const asked = useRef(false);

  const connect = useCallback(async () => {
    const own = new AbortController();
    connection.current = own;
    setState('connecting');
    let arrived: TailEvent[] = [];
    let frame: number | undefined;
    const take = () => {
      frame = undefined;
      const batch = arrived;
      arrived = [];
      setLog((before) => takeEvents(before, batch));
    };
    let hasEnd = false;
    try {
      await readEventStream({
        url: adminUrl(`/responses/${encodeURIComponent(id)}/events`, {
          starting_after: last.current < 0 ? undefined : last.current,
          content: asked.current ? true : undefined,
        }),
        signal: own.signal,
        onOpen: () => setState('live'),
        onEvent: ({ event, data }) => {
          if (event === 'end') {
            hasEnd = true;
            const { reason } = data as TailEnd; // The API's own event; the contract says its shape.
            setLog((before) => ({ ...before, end: reason }));
            return;
          }
          if (event !== 'event') return;
          const tailed = data as TailEvent; // So is this one.
          last.current = Math.max(last.current, tailed.sequence_number);
          arrived.push(tailed);
          frame ??= requestAnimationFrame(take);
        },
      });
      if (!own.signal.aborted) setState(hasEnd ? 'over' : 'failed');
    } catch (caught) {
      if (own.signal.aborted) return;
      setError(caught);
      setState('failed');
    }
  }, [id]);

  const cutTimer = useRef<number>(undefined);
  const halt = useCallback(() => {
    window.clearTimeout(cutTimer.current);
    connection.current?.abort();
  }, []);
  useEffect(() => halt, [halt, id]);

  return {
    state,
    log,
    error,
    start: (after, withContent) => {
      halt();
      last.current = after;
      asked.current = withContent;
      setError(undefined);
      setLog(emptyLog(after));
      void connect();
    },
    stop: () => {
      halt();
      setState('stopped');
    },
    cutAndResume: () => {
      halt();
      setState('cut');
      setLog((before) => ({ ...before, cuts: before.cuts + 1 }));
      cutTimer.current = window.setTimeout(() => void connect(), cutForMs);
    },
  };
}
