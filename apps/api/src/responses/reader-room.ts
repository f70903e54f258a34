import type { HoldMemory } from '@sluice/response-store';
import type { Caller } from './caller.ts';

/**
 * The memory that is held for one reader of a response: for its long end or a page of its log, and for its request, which an answer repeats
 * and which may be large as well.
 *
 * The request is held with the first part, by one wait, and before an end is shared that others hold. Of two that wait for a second part while
 * they hold a first one, each may wait for the other; and a tenant whose share is taken by an end would wait for itself.
 */
export class ReaderRoom {
  /** Bytes of the request, if that is large; 0 otherwise. */
  requestBytes: number;
  readonly #hold: Caller['hold'];
  /** How many parts are held, or waited for, with the request. */
  #withRequest = 0;

  constructor(hold: Caller['hold'], requestBytes = 0) {
    this.#hold = hold;
    this.requestBytes = requestBytes;
  }

  /** Holds room for a part. Given to the store, which calls it for what the reader does not share with others. */
  readonly holdPart: HoldMemory = async (bytes) => {
    if (this.requestBytes === 0 || this.#withRequest > 0) return this.#hold(bytes);
    this.#withRequest += 1;
    let isHeld = true;
    const leave = () => {
      if (isHeld) this.#withRequest -= 1;
      isHeld = false;
    };
    try {
      const free = await this.#hold(bytes + this.requestBytes);
      return () => {
        leave();
        free();
      };
    } catch (error) {
      leave();
      throw error;
    }
  };

  /** Holds what this reader needs beside an end that it shares. Given to the store as well. */
  readonly holdBeside: HoldMemory = (bytes) =>
    bytes + (this.isRequestHeld ? 0 : this.requestBytes) === 0
      ? Promise.resolve(() => undefined)
      : this.holdPart(bytes);

  /** Whether the request is held with a part. */
  get isRequestHeld(): boolean {
    return this.#withRequest > 0;
  }

  /** Holds room for the request, unless it is held with a part. */
  async holdRequest(): Promise<() => void> {
    return this.isRequestHeld ? () => undefined : this.#hold(this.requestBytes);
  }
}
