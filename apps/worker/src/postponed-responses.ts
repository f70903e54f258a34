/** How long a response is remembered after its job was due, in milliseconds: the job may wait behind others. */
const keptMs = 600_000;

export interface PostponedResponsesOptions {
  /** For durations, in milliseconds. */
  now: () => number;
}

/**
 * The responses that this process has given back for a while. Nobody runs them meanwhile, so this process ends one that is
 * cancelled. A response is forgotten when it is delivered here again, or some time after it was due.
 */
export class PostponedResponses {
  readonly #options: PostponedResponsesOptions;
  /** When each is forgotten, by id. */
  readonly #until = new Map<string, number>();

  constructor(options: PostponedResponsesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#until.size;
  }

  add(responseId: string, forMs: number): void {
    const now = this.#options.now();
    // They stand in the order in which they were added, so the expired ones come about first.
    for (const [id, until] of this.#until) {
      if (until > now) break;
      this.#until.delete(id);
    }
    this.#until.delete(responseId);
    this.#until.set(responseId, now + forMs + keptMs);
  }

  /** Forgets a response. Returns whether it was postponed. */
  delete(responseId: string): boolean {
    return this.#until.delete(responseId);
  }
}
