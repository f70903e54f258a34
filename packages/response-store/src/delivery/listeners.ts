import type { RelayMessage } from './message.ts';

/** Somebody who is told what happens to a response. */
export interface Listener {
  offer(message: RelayMessage): void;
  /** Messages may have been missed. */
  resync(): void;
}

/** Listeners by response. Nearly all responses have one, which stands in the map without a set around it. */
export class Listeners {
  readonly #ofResponse = new Map<string, Listener | Set<Listener>>();

  add(responseId: string, listener: Listener): void {
    const known = this.#ofResponse.get(responseId);
    if (!known) this.#ofResponse.set(responseId, listener);
    else if (known instanceof Set) known.add(listener);
    else this.#ofResponse.set(responseId, new Set([known, listener]));
  }

  remove(responseId: string, listener: Listener): void {
    const known = this.#ofResponse.get(responseId);
    if (known === listener) this.#ofResponse.delete(responseId);
    else if (known instanceof Set && known.delete(listener) && known.size === 0) {
      this.#ofResponse.delete(responseId);
    }
  }

  *of(responseId: string): Generator<Listener> {
    const known = this.#ofResponse.get(responseId);
    if (known instanceof Set) yield* known;
    else if (known) yield known;
  }

  *all(): Generator<Listener> {
    for (const responseId of this.#ofResponse.keys()) yield* this.of(responseId);
  }
}
