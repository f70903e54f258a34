import { formatPath, type KeyRules, keySchema } from '@sluice/config';
import { z } from 'zod';

const time = z.iso.datetime();

/**
 * A key as it is stored, in JSON: what the file may say of a key, and what has become of it.
 *
 * A member that this release does not know makes the whole key unreadable, and so refused: it may be a limit, which a
 * process that does not know it cannot hold.
 */
const storedKeySchema = keySchema.omit({ key: true, hash: true, disabled: true }).extend({
  hash: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  last4: z.string().regex(/^[\x21-\x7e]{4}$/),
  createdAt: time,
  revokedAt: time.exactOptional(),
  replacedBy: z.string().exactOptional(),
});

/** A key that was made by `sluice keys create`. It holds no plain key. */
export interface StoredKey extends KeyRules {
  /** Public: `key_` and random digits. */
  id: string;
  /** `sha256:` and lower-case hexadecimal. */
  hash: string;
  /** The last four characters of the key, so that its owner recognises it. */
  last4: string;
  /** ISO 8601 in UTC, like the other times. */
  createdAt: string;
  revokedAt?: string;
  /** The id of the key that was made in its place by `sluice keys rotate`. */
  replacedBy?: string;
}

/** What is stored under an id and is no key. */
export interface UnreadableKey {
  id: string;
  /** Holds nothing of what is stored. */
  problem: string;
}

/** Whether a key is taken, and why not. */
export type StoredKeyState = 'active' | 'expired' | 'revoked';

export function stateOfKey(
  { revokedAt, expiresAt }: Pick<StoredKey, 'revokedAt' | 'expiresAt'>,
  now: number,
): StoredKeyState {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && now >= Date.parse(expiresAt) ? 'expired' : 'active';
}

/** The text under which a key is stored; its id is kept beside it. */
export function storedKeyText({ id: _id, ...rest }: StoredKey): string {
  return JSON.stringify(rest);
}

interface Reading {
  text: string;
  reading: StoredKey | UnreadableKey;
}

/** Reads stored keys. A text that has been read before is not parsed again, so a change costs what has changed. */
export class StoredKeyReader {
  #known: ReadonlyMap<string, Reading> = new Map();

  /** Keys in the order in which they were made, and what cannot be read. `entries` are texts by id. */
  read(entries: ReadonlyMap<string, string>): { keys: StoredKey[]; unreadable: UnreadableKey[] } {
    const known = new Map<string, Reading>();
    const keys: StoredKey[] = [];
    const unreadable: UnreadableKey[] = [];
    for (const [id, text] of entries) {
      const before = this.#known.get(id);
      const reading = before?.text === text ? before.reading : parse(id, text);
      known.set(id, { text, reading });
      if ('problem' in reading) unreadable.push(reading);
      else keys.push(reading);
    }
    this.#known = known;
    keys.sort((one, other) => compare(one.createdAt, other.createdAt) || compare(one.id, other.id));
    unreadable.sort((one, other) => compare(one.id, other.id));
    return { keys, unreadable };
  }
}

const longestId = 64;

function parse(id: string, text: string): StoredKey | UnreadableKey {
  const unreadable = (problem: string) => ({ id: id.slice(0, longestId), problem });
  if (!/^key_[0-9A-Za-z]{1,60}$/.test(id)) return unreadable('is not the id of a key');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return unreadable('is not JSON');
  }
  const { data, error } = storedKeySchema.safeParse(value);
  if (data !== undefined) return { id, ...data };
  const path = formatPath(error.issues[0]?.path ?? []);
  return unreadable(path === '' ? 'does not have the members of a key' : `${path} is not valid`);
}

/** By code units: times in ISO 8601 and ids need no language. */
function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
