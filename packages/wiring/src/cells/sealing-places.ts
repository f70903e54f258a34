import type { SealingKeysOptions } from '@sluice/response-store/sealed-content';
import type { Redis } from 'ioredis';
import type { Wired } from './connect.ts';

/** The places of the key that seals: the first cell, which has it, and the others, which have a copy. */
export function sealingPlaces({
  cells,
}: Pick<Wired<{ commands: Redis }, unknown>, 'cells'>): Pick<
  SealingKeysOptions,
  'connection' | 'keyPrefix' | 'copies'
> {
  const [first, ...copies] = cells.map(({ clients: { commands: connection }, keyPrefix }) => ({
    connection,
    keyPrefix,
  }));
  if (!first) throw new RangeError('There is no cell');
  return { ...first, copies };
}
