type Listening = Pick<AbortSignal, 'addEventListener' | 'removeEventListener'>;
type Listener = Parameters<AbortSignal['addEventListener']>[1];

/**
 * Signals of a world that follow others. Node keeps such a signal, and all that its listeners hold, for as long as somebody listens to
 * it, and those who listen in a world that is over never stop to.
 */
export class ListenedSignals {
  readonly #listeners = new Map<Listening, Set<Listener>>();

  /** Notes from now on who listens to a signal. */
  follow(signal: Listening): void {
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (
      type: string,
      listener: Listener,
      options?: EventListenerOptions | boolean,
    ) => {
      const known = this.#listeners.get(signal) ?? new Set();
      this.#listeners.set(signal, known.add(listener));
      add(type, listener, options);
    };
    signal.removeEventListener = (
      type: string,
      listener: Listener,
      options?: EventListenerOptions | boolean,
    ) => {
      const known = this.#listeners.get(signal);
      known?.delete(listener);
      if (known?.size === 0) this.#listeners.delete(signal);
      remove(type, listener, options);
    };
  }

  /** Ends all listening. */
  forget(): void {
    for (const [signal, listeners] of this.#listeners)
      for (const listener of listeners) signal.removeEventListener('abort', listener);
  }
}
