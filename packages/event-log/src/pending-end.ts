import type { ResponseEnd } from '@sluice/contract';
import type { RelayMessage } from './message.ts';
import { parseEnd } from './record.ts';

/** How often the end of a response is looked up in case its message was lost, in milliseconds. */
const pollMs = { first: 1_000, longest: 5_000 };

export interface PendingEndOptions {
  /** The end as JSON; undefined while there is none, null when the response is gone. */
  readEnd: () => Promise<string | undefined | null>;
  onError: (error: unknown) => void;
  onClose: () => void;
}

/**
 * Somebody waits for a response to end and for nothing else.
 *
 * Listens from its creation, before the accept, and looks nothing up until `ended` is called, after it.
 */
export class PendingEnd {
  readonly #options: PendingEndOptions;
  readonly #arrived = Promise.withResolvers<string | undefined>();

  constructor(options: PendingEndOptions) {
    this.#options = options;
  }

  offer(message: RelayMessage): void {
    if (message.end) this.#arrived.resolve(message.end.result);
  }

  resync(): void {
    this.#options.readEnd().then(
      (end) => {
        if (end !== undefined) this.#arrived.resolve(end ?? undefined);
      },
      (error: unknown) => this.#options.onError(error),
    );
  }

  /** The end; undefined when the response is gone. Rejects with the signal's reason when it is aborted. */
  async ended(signal: AbortSignal): Promise<ResponseEnd | undefined> {
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason);
    let wait = pollMs.first;
    let timer = setTimeout(poll, wait, this);
    function poll(pending: PendingEnd) {
      pending.resync();
      wait = Math.min(wait * 2, pollMs.longest);
      timer = setTimeout(poll, wait, pending);
    }
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      signal.throwIfAborted();
      const end = await Promise.race([this.#arrived.promise, aborted.promise]);
      return end === undefined ? undefined : parseEnd(end);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  close(): void {
    this.#options.onClose();
  }
}
