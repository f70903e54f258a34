import type { SealingKeysOptions } from '@sluice/response-store/sealed-content';
import type { Redis } from 'ioredis';
import type { Wired } from '../connect.ts';

/** The places of the key that seals: the first cell, which has it, and the others, which have a copy. */
export function sealingPlaces({
  cells,
}: Pick<Wired<{ commands: Redis }, unknown>, 'cells'>): Pick<
  SealingKeysOptions,
  'connection' | 'keyPrefix' | 'copies'
> {
  const placeIn = ({ clients: { commands: connection }, keyPrefix }: (typeof cells)['first']) => ({
    connection,
    keyPrefix,
  });
  return { ...placeIn(cells.first), copies: () => cells.all.slice(1).map(placeIn) };
}
