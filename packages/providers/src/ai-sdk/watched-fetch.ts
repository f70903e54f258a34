import { AsyncLocalStorage } from 'node:async_hooks';
import { type Agent, type Dispatcher, fetch as undiciFetch, Headers, type RequestInit } from 'undici';
import type { Timeouts } from '../upstream/silence-timer.ts';
import { upstreamAgent } from '../upstream/upstream-agent.ts';
import type { CallWatch } from './call-watch.ts';

/**
 * The `fetch` that packages get.
 *
 * It has an agent of its own, so no other request shares its connections. Certificates are always verified, redirects are
 * not followed, and it uses HTTP/1.1 alone: closing a call then closes its socket, which makes a vendor stop generating. A
 * request belongs to the call in whose `run` it was begun, and that call watches it. A request of no call, such as one that
 * renews a token, may take as long as a first token.
 */
export class WatchedFetch {
  readonly #watches = new AsyncLocalStorage<CallWatch>();
  readonly #agent: Agent;
  readonly #dispatcher: Dispatcher;
  readonly #timeouts: Timeouts;

  constructor(timeouts: Timeouts) {
    this.#timeouts = timeouts;
    this.#agent = upstreamAgent(timeouts);
    this.#dispatcher = this.#agent.compose((dispatch) => (options, handler) => {
      const watch = this.#watches.getStore();
      if (!watch) return dispatch(options, handler);
      watch.connecting();
      return dispatch(options, watched(handler, watch));
    });
  }

  /** Runs a step of a call: requests that it begins are watched by the call. */
  run<T>(watch: CallWatch, step: () => T): T {
    return this.#watches.run(watch, step);
  }

  /** The function for a package's factory. */
  readonly fetch = (input: string | URL, init: RequestInit = {}): ReturnType<typeof undiciFetch> => {
    const headers = new Headers(init.headers);
    headers.set('accept-encoding', 'identity');
    const signal =
      this.#watches.getStore()?.signal ?? init.signal ?? AbortSignal.timeout(this.#timeouts.firstTokenMs);
    return undiciFetch(input, {
      ...init,
      headers,
      redirect: 'manual',
      signal,
      dispatcher: this.#dispatcher,
    });
  };

  /** Closes every connection. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** Tells the watch about each step of a request, and passes everything on. */
function watched(handler: Dispatcher.DispatchHandler, watch: CallWatch): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller, context) {
      watch.sent();
      handler.onRequestStart?.(controller, context);
    },
    onRequestUpgrade(controller, status, headers, socket) {
      handler.onRequestUpgrade?.(controller, status, headers, socket);
    },
    onResponseStart(controller, status, headers, statusMessage) {
      if (status >= 200) watch.responded(status, headers);
      if (!controller.aborted) handler.onResponseStart?.(controller, status, headers, statusMessage);
    },
    onResponseData(controller, chunk) {
      watch.received(chunk);
      if (!controller.aborted) handler.onResponseData?.(controller, chunk);
    },
    onResponseEnd(controller, trailers) {
      handler.onResponseEnd?.(controller, trailers);
    },
    onResponseError(controller, error) {
      handler.onResponseError?.(controller, error);
    },
  };
}
