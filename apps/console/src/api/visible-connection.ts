import type { LiveEvent } from './event-stream.ts';
import { keepLive } from './live-connection.ts';
import type { LiveState } from './live-states.ts';

export interface VisibleConnectionOptions {
  url: string;
  /** The page that shows the events: the document of the tab. */
  page: Pick<Document, 'hidden' | 'addEventListener' | 'removeEventListener'>;
  onEvent: (event: LiveEvent) => void;
  onState: (state: LiveState) => void;
  /** For tests. */
  keep?: typeof keepLive;
}

/**
 * Follows a path of server-sent events while the page can be seen. A hidden tab has no connection; when it is seen again, it goes on
 * after the last event that had an id.
 *
 * @returns a function that ends it. Nothing is called after that.
 */
export function followWhileVisible(options: VisibleConnectionOptions): () => void {
  const { url, page, onEvent, onState, keep = keepLive } = options;
  let lastEventId: string | undefined;
  let running: AbortController | undefined;
  const follow = () => {
    running?.abort();
    if (page.hidden) {
      onState('paused');
      return;
    }
    const { signal } = (running = new AbortController());
    void keep(
      {
        url,
        lastEventId,
        onEvent: (event) => {
          if (signal.aborted) return;
          lastEventId = event.id ?? lastEventId;
          onEvent(event);
        },
        onState: (state) => {
          if (!signal.aborted) onState(state);
        },
      },
      signal,
    );
  };
  follow();
  page.addEventListener('visibilitychange', follow);
  return () => {
    page.removeEventListener('visibilitychange', follow);
    running?.abort();
  };
}
