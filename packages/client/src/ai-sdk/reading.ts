/** The reading of a response: it ends when the chat is stopped, and when nobody reads the chat any more. */
export class Reading {
  readonly #over = new AbortController();
  #stopped: AbortSignal | undefined;

  /** Ends the connection as soon as the chat is stopped. Called once. */
  endWith(stopped: AbortSignal | undefined): void {
    this.#stopped = stopped;
    stopped?.addEventListener('abort', this.#stop, { once: true });
    if (stopped?.aborted) this.#stop();
  }

  /** Aborted when the chat is stopped. */
  get stopped(): AbortSignal | undefined {
    return this.#stopped;
  }

  /** For the connection. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Ends the connection at once, also while it waits for an event. */
  leave(): void {
    this.#stopped?.removeEventListener('abort', this.#stop);
    this.#over.abort();
  }

  readonly #stop = () => this.#over.abort(this.#stopped?.reason);
}
