/** Looks at something again and again, and never twice at once. */
export class RegularLook {
  readonly #lookOnce: () => Promise<void>;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  /** `lookOnce` never rejects. */
  constructor(lookOnce: () => Promise<void>, everyMs: number) {
    this.#lookOnce = lookOnce;
    this.#everyMs = everyMs;
  }

  /** Looks now, and at intervals from now on. */
  start(): void {
    this.#timer ??= setInterval(() => void this.look(), this.#everyMs);
    void this.look();
  }

  /** Resolves when no look is under way. Safe to call twice, or before `start`. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#looking;
  }

  /** Looks now, or joins the look under way. */
  look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }
}
