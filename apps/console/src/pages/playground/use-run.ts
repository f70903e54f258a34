import { useCallback, useEffect, useRef, useState } from 'react';
import { newRun, type Run, sendRequest } from './run-request.ts';

export interface Runner {
  run: Run | undefined;
  start: (body: Readonly<Record<string, unknown>>, apiKey: string) => void;
  stop: () => void;
}

/** One request at a time: another one takes the place of the one before. */
export function useRun(): Runner {
  const [run, setRun] = useState<Run>();
  const controller = useRef<AbortController>(undefined);
  const stop = useCallback(() => {
    controller.current?.abort();
    setRun((before) => (before?.state === 'running' ? { ...before, state: 'stopped' } : before));
  }, []);
  useEffect(() => () => controller.current?.abort(), []);
  const start = useCallback((body: Readonly<Record<string, unknown>>, apiKey: string) => {
    controller.current?.abort();
    const own = new AbortController();
    controller.current = own;
    setRun(newRun);
    const change = (how: (run: Run) => Run) => {
      if (!own.signal.aborted) setRun((before) => before && how(before));
    };
    sendRequest(body, { apiKey, signal: own.signal, onChange: change }).then(
      () => change((before) => ({ ...before, state: before.error === undefined ? 'done' : 'failed' })),
      (error: unknown) => change((before) => ({ ...before, state: 'failed', error })),
    );
  }, []);
  return { run, start, stop };
}
