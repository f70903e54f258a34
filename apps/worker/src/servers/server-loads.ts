import type { PoolServer } from '../model-routes.ts';

/** Calls under way by the key of their server. Servers without calls are left out. */
export type CallCounts = ReadonlyMap<string, number>;

/** How often a process tells its calls, in milliseconds. */
export const tellEveryMs = 500;

export interface ServerLoadsOptions {
  /** Tells the calls of this process, and returns those of all others that live. */
  share: (own: CallCounts) => Promise<CallCounts>;
  onError: (error: unknown) => void;
}

/**
 * The calls under way at each server of a provider that has several: those of this process at once, and those of others as
 * they were half a second ago. While the store is silent, the others count as they did last.
 */
export class ServerLoads {
  readonly #options: ServerLoadsOptions;
  readonly #own = new Map<string, number>();
  #others: CallCounts = new Map();
  #timer: NodeJS.Timeout | undefined;
  #isNeeded = false;
  #telling: Promise<void> | undefined;

  constructor(options: ServerLoadsOptions) {
    this.#options = options;
  }

  /** Begins to tell and to hear, as soon as a provider with several servers is there. Until then nothing is sent. */
  start(): void {
    this.#timer ??= setInterval(() => void this.tell(), tellEveryMs);
    void this.tell();
  }

  /** Whether a provider has several servers now. */
  set isNeeded(isNeeded: boolean) {
    const isNew = isNeeded && !this.#isNeeded;
    this.#isNeeded = isNeeded;
    if (isNew && this.#timer) void this.tell();
  }

  /** Calls under way at a server, of every process. */
  of({ key }: PoolServer): number {
    return (this.#own.get(key) ?? 0) + (this.#others.get(key) ?? 0);
  }

  /** A call begins. Returns what ends it, which may be called twice. */
  begin({ key }: PoolServer): () => void {
    this.#own.set(key, (this.#own.get(key) ?? 0) + 1);
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      const left = (this.#own.get(key) ?? 1) - 1;
      if (left > 0) this.#own.set(key, left);
      else this.#own.delete(key);
    };
  }

  /** Tells the calls of this process now, unless nobody has to know. One at a time; never rejects. */
  async tell(): Promise<void> {
    // Calls to a provider that has several servers no longer are told to their end.
    if (!this.#isNeeded && this.#own.size === 0) return;
    this.#telling ??= this.#options
      .share(new Map(this.#own))
      .then((others) => {
        this.#others = others;
      })
      .catch(this.#options.onError)
      .finally(() => {
        this.#telling = undefined;
      });
    await this.#telling;
  }

  /** May be called twice, or without a start. What it told last lapses by itself. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#telling;
  }
}
