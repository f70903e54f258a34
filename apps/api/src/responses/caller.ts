import type { KeySettings } from '@sluice/config';
import type { RequestTrace } from '@sluice/runtime';

/** Why nobody waits for an answer any more: the caller went away, or this process stops. */
export type Departure = 'caller_left' | 'interrupted';

/**
 * Whether the caller of a request is still there. The first to notice that it is not says so; everybody else is told
 * once.
 */
export class CallerPresence {
  #departure: Departure | undefined;
  readonly #listeners = new Set<(departure: Departure) => void>();

  /** Undefined as long as the caller is there. */
  get departure(): Departure | undefined {
    return this.#departure;
  }

  end(departure: Departure): void {
    if (this.#departure) return;
    this.#departure = departure;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener(departure);
  }

  /** Calls the listener when the caller goes, or at once when it is gone. Returns how to take it off, which what is over before that should. */
  onEnd(listener: (departure: Departure) => void): () => void {
    if (this.#departure) listener(this.#departure);
    else this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

/** The caller of a request, over whichever transport. */
export interface Caller {
  /** The key it came with: its tenant, and what that may do. */
  key: KeySettings;
  /** Names the request in answers and in the log. */
  requestId: string;
  /** Where its request stands in a trace; undefined while traces are off. */
  trace?: RequestTrace | undefined;
  presence: CallerPresence;
  /**
   * Holds memory for so many bytes on behalf of the caller until the returned function is called. Waits while its tenant, or
   * everybody together, has too much, and rejects with a {@link ServiceError} when that takes longer than `withinMs`, by
   * default half a minute, or the caller leaves.
   */
  hold: (bytes: number, withinMs?: number) => Promise<() => void>;
  /** Since the request arrived, in milliseconds. */
  elapsedMs: () => number;
}
