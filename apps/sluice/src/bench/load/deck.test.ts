import { describe, expect, it } from 'vitest';
import { Deck } from './deck.ts';
import { seededRandom } from './random.ts';

const mix = [
  { value: 'whole', weight: 60 },
  { value: 'stream', weight: 30 },
  { value: 'background', weight: 10 },
];

function draws(seed: number, count: number): string[] {
  const deck = new Deck(mix, seededRandom(seed, 'modes'));
  return Array.from({ length: count }, () => deck.draw());
}

describe('a deck', () => {
  it('has each value as often as its weight says, in every round', () => {
    const drawn = draws(1, 100);
    for (let round = 0; round < 10; round++) {
      const counts = Object.groupBy(drawn.slice(round * 10, round * 10 + 10), (value) => value);
      expect([counts['whole']?.length, counts['stream']?.length, counts['background']?.length]).toEqual([
        6, 3, 1,
      ]);
    }
  });

  it('draws the same for the same seed, and another order for another one', () => {
    expect(draws(1, 50)).toEqual(draws(1, 50));
    expect(draws(1, 50)).not.toEqual(draws(2, 50));
  });

  it('shuffles each round anew', () => {
    const drawn = draws(1, 100);
    const rounds = Array.from({ length: 10 }, (_, round) => drawn.slice(round * 10, round * 10 + 10).join());
    expect(new Set(rounds).size).toBeGreaterThan(5);
  });

  it('needs a card', () => {
    expect(() => new Deck([], seededRandom(1, 'modes'))).toThrow('a deck needs a card');
  });
});
