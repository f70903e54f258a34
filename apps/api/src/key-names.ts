import type { KnownKeys } from '@sluice/tenants';

/** So many characters of the digest of a key tell it apart from the other keys of a service. */
const storedLength = 16;

/** What the store has of a key that created something. A stored key says how its digest was made; a key in effect does not. */
export const storedNameOf = ({ hash }: { hash: string }): string =>
  hash.replace(/^sha256:/, '').slice(0, storedLength);

/** Names of keys, for whoever is told of one: the id of a stored key, and what the store has of a key of the file. */
export interface KeyNames {
  idOf: (stored: string) => string;
  storedOf: (id: string) => string;
}

export function keyNames(known: () => Pick<KnownKeys, 'stored'>): KeyNames {
  return {
    idOf: (stored) => known().stored?.find((key) => storedNameOf(key) === stored)?.id ?? stored,
    storedOf: (id) => {
      const found = known().stored?.find((key) => key.id === id);
      return found ? storedNameOf(found) : id;
    },
  };
}
