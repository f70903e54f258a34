/** A request whose body is on its way, a synchronous wait or a stream. */
interface OpenRequest {
  /** Ends it early, because this process stops. */
  interrupt: () => void;
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

  /** Runs a request with a signal that is aborted when the process cannot wait for it any longer. */
  async run<Result>(request: (interrupted: AbortSignal) => Promise<Result>): Promise<Result> {
    const controller = new AbortController();
    const end = this.begin(() => controller.abort(new Error('The server is stopping')));
    try {
      return await request(controller.signal);
    } finally {
      end();
    }
  }

  /** Registers what a stopping process waits for. Returns the function that ends it; twice is fine. */
  begin(interrupt: () => void): () => void {
    const open = { interrupt };
    this.#open.add(open);
    if (this.#isInterrupted) interrupt();
    return () => {
      if (this.#open.delete(open) && this.#open.size === 0) this.#emptied?.();
    };
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
