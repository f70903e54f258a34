/** A request under way: a body that arrives, a wait for an answer, or a stream. */
export interface OpenRequest {
  /** Ends the request early, because this process stops. Its handler decides how. */
  interrupt: () => void;
  /** Notes that the request is over. Calling it again does nothing. */
  end: () => void;
}

/** Requests under way, so that a stopping process can wait for them and, past its grace, end them. */
export class OpenRequests {
  readonly #open = new Set<OpenRequest>();
  #emptied: (() => void) | undefined;
  /** Whether the grace is over: what begins now is told so at once. */
  #isInterrupted = false;

  get size(): number {
    return this.#open.size;
  }

  /** Registers what a stopping process waits for. */
  begin(interrupt: () => void): OpenRequest {
    const open: OpenRequest = {
      interrupt,
      end: () => {
        if (this.#open.delete(open) && this.#open.size === 0) this.#emptied?.();
      },
    };
    this.#open.add(open);
    if (this.#isInterrupted) interrupt();
    return open;
  }

  /** Changes how a request under way is ended early; at once, when the grace is over. */
  take(open: OpenRequest, interrupt: () => void): void {
    open.interrupt = interrupt;
    if (this.#isInterrupted) interrupt();
  }

  /** Resolves when nothing is under way; what is left after `graceMs` is interrupted first. */
  async drain(graceMs: number): Promise<void> {
    const emptied = new Promise<void>((resolve) => {
      this.#emptied = resolve;
      if (this.#open.size === 0) resolve();
    });
    const timer = setTimeout(() => {
      this.#isInterrupted = true;
      for (const { interrupt } of this.#open) interrupt();
    }, graceMs);
    await emptied;
    clearTimeout(timer);
  }
}
