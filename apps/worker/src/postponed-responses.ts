/** A job that is due may wait behind others; for this long its response is remembered after that, in milliseconds. */
const keptMs = 600_000;

export interface PostponedResponsesOptions {
  /** For durations, in milliseconds. */
  now: () => number;
}

/**
 * The responses that this process has given back for a while. Nobody runs them, so this process ends one whose end is
 * asked for. Each is forgotten when it is delivered here again, or some time after it was due.
 */
export class PostponedResponses {
  readonly #options: PostponedResponsesOptions;
  /** By id, when each is forgotten. */
  readonly #until = new Map<string, number>();

  constructor(options: PostponedResponsesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#until.size;
  }

  add(responseId: string, forMs: number): void {
    const now = this.#options.now();
    // The first were added first, so it is enough to look at those.
    for (const [id, until] of this.#until) {
      if (until > now) break;
      this.#until.delete(id);
    }
    this.#until.delete(responseId);
    this.#until.set(responseId, now + forMs + keptMs);
  }

  /** Forgets a response; whether it was postponed. */
  delete(responseId: string): boolean {
    return this.#until.delete(responseId);
  }
}
