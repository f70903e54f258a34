import type { KnownKeys } from '@sluice/tenants';

/** So many characters of the digest of a key tell it apart from the other keys of a service. */
const storedLength = 16;

/** The name that the store has of a key that created something. A stored key says how its digest was made; a key in effect does not. */
export const storedNameOf = ({ hash }: { hash: string }): string =>
  hash.replace(/^sha256:/, '').slice(0, storedLength);

/** Names of keys, for whoever is told of one: the id of a stored key, and what the store has of a key of the file. */
export interface KeyNames {
  idOf: (stored: string) => string;
  storedOf: (id: string) => string;
}

export function keyNames(known: () => Pick<KnownKeys, 'stored'>): KeyNames {
  // A page of usage has hundreds of names, and there may be a hundred thousand keys. The list is replaced with each change.
  let ofKeys: KnownKeys['stored'];
  let ids = new Map<string, string>();
  let names = new Map<string, string>();
  const read = () => {
    const { stored = [] } = known();
    if (stored === ofKeys) return;
    ofKeys = stored;
    ids = new Map(stored.map((key) => [storedNameOf(key), key.id]));
    names = new Map(stored.map((key) => [key.id, storedNameOf(key)]));
  };
  return {
    idOf: (stored) => {
      read();
      return ids.get(stored) ?? stored;
    },
    storedOf: (id) => {
      read();
      return names.get(id) ?? id;
    },
  };
}
