import { randomFrom } from '@sluice/testing';

/** Choices that follow from a seed. */
export interface Random {
  /** From 0 to below 1. */
  next: () => number;
  /** A whole number from 0 to below the limit. */
  below: (limit: number) => number;
  pick: <T>(from: readonly [T, ...T[]]) => T;
  /** One of a list that may be empty. */
  anyOf: <T>(from: readonly T[]) => T | undefined;
  /** Whether something happens that does so in this share of the cases. */
  chance: (share: number) => boolean;
}

export function choicesFrom(seed: number): Random {
  const next = randomFrom(seed);
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    pick: (from) => from[below(from.length)] ?? from[0],
    anyOf: (from) => from[below(from.length)],
    chance: (share) => next() < share,
  };
}
