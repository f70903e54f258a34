import { useCallback, useEffect, useRef, useState } from 'react';
import { newRun, type Run } from './fold-run.ts';
import { PlaygroundRequest } from './run-request.ts';

export interface Runner {
  run: Run | undefined;
  start: (body: Readonly<Record<string, unknown>>, apiKey: string) => void;
  stop: () => void;
}

/** One request at a time: another one takes the place of the one before. */
export function useRun(): Runner {
  const [run, setRun] = useState<Run>();
  const current = useRef<PlaygroundRequest>(undefined);
  const change = useCallback((request: PlaygroundRequest, how: (run: Run) => Run) => {
    if (current.current === request) setRun((before) => before && how(before));
  }, []);
  const fail = useCallback(
    (request: PlaygroundRequest, error: unknown) => {
      if (error instanceof DOMException && error.name === 'AbortError') return; // It was stopped.
      change(request, (before) => ({ ...before, state: 'failed', error }));
    },
    [change],
  );
  const stop = useCallback(() => {
    const request = current.current;
    if (!request) return;
    setRun((before) => (before?.state === 'running' ? { ...before, state: 'stopped' } : before));
    request.stop().catch((error: unknown) => fail(request, error));
  }, [fail]);
  useEffect(() => () => current.current?.leave(), []);
  const start = useCallback(
    (body: Readonly<Record<string, unknown>>, apiKey: string) => {
      current.current?.leave();
      const request: PlaygroundRequest = new PlaygroundRequest(body, {
        apiKey,
        onChange: (how) => change(request, how),
      });
      current.current = request;
      setRun(newRun);
      request.send().catch((error: unknown) => fail(request, error));
    },
    [change, fail],
  );
  return { run, start, stop };
}
