import { ApiError } from './api-error.ts';
import { type LiveEvent, readEventStream } from './event-stream.ts';
import type { LiveState } from './live-states.ts';

export interface LiveConnectionOptions {
  url: string;
  /** Where to begin; later connections go on after the last event that had an id. */
  lastEventId?: string | undefined;
  onEvent: (event: LiveEvent) => void;
  onState: (state: LiveState, error: unknown) => void;
  /** For tests. */
  read?: typeof readEventStream;
  /** For tests. */
  wait?: (delayMs: number, signal: AbortSignal) => Promise<void>;
}

const firstDelayMs = 500;
const longestDelayMs = 15_000;

/**
 * Follows a path of server-sent events until `signal` is aborted. A connection that ends or fails is made again, after a delay that
 * doubles with each try in vain and has a random part, so that many consoles do not come back at once.
 */
export async function keepLive(options: LiveConnectionOptions, signal: AbortSignal): Promise<void> {
  const { url, onEvent, onState, read = readEventStream, wait = pause } = options;
  let { lastEventId } = options;
  let failures = 0;
  while (!signal.aborted) {
    onState('connecting', undefined);
    let error: unknown;
    try {
      await read({
        url,
        lastEventId,
        signal,
        onOpen: () => {
          failures = 0;
          onState('live', undefined);
        },
        onEvent: (event) => {
          if (event.id !== undefined) lastEventId = event.id;
          onEvent(event);
        },
      });
    } catch (caught) {
      error = caught;
    }
    if (signal.aborted) return;
    onState('lost', error);
    failures += 1;
    const isRefused =
      error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
    const delayMs = isRefused ? longestDelayMs : Math.min(longestDelayMs, firstDelayMs * 2 ** (failures - 1));
    await wait(delayMs * (0.75 + Math.random() / 2), signal);
  }
}

function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, delayMs);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
  });
}
