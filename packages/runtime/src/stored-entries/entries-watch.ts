import { pause } from '../pause.ts';
import type { EntriesSnapshot } from './stored-entries.ts';

/** Something with a version; see `EntriesSnapshot`. */
type Versioned = Pick<EntriesSnapshot, 'version'>;

export interface EntriesWatchOptions<Snapshot extends Versioned = EntriesSnapshot> {
  /** `StoredEntries`, or several of them under one version. */
  store: { version: () => Promise<string | undefined>; read: () => Promise<Snapshot> };
  /** Puts entries into effect. They count as seen once it has returned. */
  apply: (snapshot: Snapshot) => void | Promise<void>;
  /** Told of each look that failed. What was applied last stays in effect. */
  onError: (error: unknown) => void;
  /** Pause between two looks, in milliseconds; two seconds by default. */
  intervalMs?: number;
  /** Pause after a look that failed, in milliseconds; half a second by default. */
  retryMs?: number;
}

const defaultIntervalMs = 2000;
const defaultRetryMs = 500;

/**
 * Watches stored entries while a process runs. It asks for their version, and reads them when that differs.
 *
 * It needs no message that could be lost, so every process follows a change within the interval. While Redis does not
 * answer, nothing changes.
 */
export class EntriesWatch<Snapshot extends Versioned = EntriesSnapshot> {
  readonly #options: EntriesWatchOptions<Snapshot>;
  #seen: Versioned | undefined;
  #running: Promise<void> | undefined;
  /** The look that was asked for last. One at a time: an older one must not be applied behind a newer one. */
  #looking: Promise<void> = Promise.resolve();
  readonly #stopping = new AbortController();

  constructor(options: EntriesWatchOptions<Snapshot>) {
    this.#options = options;
  }

  /** Looks once, and applies what has changed. The first look applies also that there are none. */
  look(): Promise<void> {
    const look = () => this.#lookOnce();
    this.#looking = this.#looking.then(look, look);
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const { store, apply } = this.#options;
    const version = await store.version();
    if (this.#seen !== undefined && this.#seen.version === version) return;
    const snapshot = await store.read();
    await apply(snapshot);
    this.#seen = { version: snapshot.version };
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends the watch; may be called twice, or without a start. Resolves when no look is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { intervalMs = defaultIntervalMs, retryMs = defaultRetryMs, onError } = this.#options;
    const { signal } = this.#stopping;
    let pauseMs = intervalMs;
    while (!signal.aborted) {
      await pause(pauseMs, signal);
      if (signal.aborted) return;
      try {
        await this.look();
        pauseMs = intervalMs;
      } catch (error) {
        pauseMs = Math.min(retryMs, intervalMs);
        onError(error);
      }
    }
  }
}
