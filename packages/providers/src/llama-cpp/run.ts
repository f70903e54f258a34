import type { ProviderChunk, ProviderError } from '../provider.ts';

/**
 * One generation, between the process that makes its chunks and the caller that takes them.
 *
 * Chunks that the caller has not taken are kept. Their number is bounded, because an answer has no more tokens than the context.
 */
export class Run {
  readonly #onOver: () => void;
  #chunks: ProviderChunk[] = [];
  #error: ProviderError | undefined;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  /** Whether the process has nothing left to do for it. */
  get isOver(): boolean {
    return this.#isOver;
  }

  push(chunk: ProviderChunk): void {
    this.#chunks.push(chunk);
    this.#wake?.();
  }

  end(error: ProviderError | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.#onOver();
    this.#wake?.();
  }

  /** The chunks as they come. Rejects with the error of the run, and at once with the reason of an abort. */
  async *chunks(signal: AbortSignal): AsyncGenerator<ProviderChunk, void, undefined> {
    const wake = () => this.#wake?.();
    signal.addEventListener('abort', wake);
    try {
      for (;;) {
        const taken = this.#chunks;
        this.#chunks = [];
        for (const chunk of taken) {
          signal.throwIfAborted();
          yield chunk;
        }
        signal.throwIfAborted();
        if (this.#chunks.length > 0) continue;
        if (this.#error) throw this.#error;
        if (this.#isOver) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }
}
