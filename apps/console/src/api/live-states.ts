/** The state of a live connection: `paused` while its tab is hidden, `lost` between tries to get it back. */
export type LiveState = 'connecting' | 'live' | 'paused' | 'lost';

/** The states of all live connections of the page, for the header. */
export class LiveStates {
  readonly #states = new Map<symbol, LiveState>();
  readonly #listeners = new Set<() => void>();

  set(connection: symbol, state: LiveState | undefined): void {
    if (state === undefined) this.#states.delete(connection);
    else this.#states.set(connection, state);
    for (const listener of this.#listeners) listener();
  }

  /** The worst of them; undefined when the page has none. */
  get worst(): LiveState | undefined {
    const states = [...this.#states.values()];
    return (['lost', 'connecting', 'paused', 'live'] as const).find((state) => states.includes(state));
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export const liveStates = new LiveStates();
