import type { Random } from './random.ts';

/** Something to choose, and how often compared with the others. */
export interface Weighted<T> {
  value: T;
  /** A whole number of at least 1. */
  weight: number;
}

/**
 * Chooses by weight, like cards from a shuffled deck: each round has every value exactly as often as its weight says, in
 * an order of its own. Short runs therefore have the mix that was asked for, which independent throws would miss.
 */
export class Deck<T> {
  readonly #cards: T[];
  readonly #random: Random;
  #next = 0;

  /** @throws {RangeError} when there is nothing to choose. */
  constructor(choices: readonly Weighted<T>[], random: Random) {
    const divisor = choices.reduce((common, { weight }) => greatestDivisor(common, weight), 0);
    if (divisor === 0) throw new RangeError('a deck needs a card');
    this.#cards = choices.flatMap(({ value, weight }) =>
      Array.from({ length: weight / divisor }, () => value),
    );
    this.#random = random;
  }

  draw(): T {
    if (this.#next === 0) this.#shuffle();
    const card = this.#cards[this.#next] as T; // The index is below the length.
    this.#next = (this.#next + 1) % this.#cards.length;
    return card;
  }

  #shuffle(): void {
    const cards = this.#cards;
    for (let last = cards.length - 1; last > 0; last--) {
      const other = Math.floor(this.#random() * (last + 1));
      [cards[last], cards[other]] = [cards[other] as T, cards[last] as T]; // Both are indexes of the deck.
    }
  }
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}
