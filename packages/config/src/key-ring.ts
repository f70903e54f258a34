import { createHash, timingSafeEqual } from 'node:crypto';
import type { KeySettings } from './settings.ts';

interface Entry {
  key: KeySettings;
  digest: Buffer;
  expiresAtMs: number;
}

/** What a key ring is made of. */
export interface KeyRingOptions {
  keys: readonly KeySettings[];
  /** The clock that expiry is read from, in milliseconds since 1970; the system's unless said otherwise. */
  now?: () => number;
}

/** The keys a service accepts. Holds hashes only. */
export class KeyRing {
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #now: () => number;

  constructor({ keys, now = Date.now }: KeyRingOptions) {
    this.#now = now;
    this.#entries = new Map(
      keys.map((key) => [
        key.hash,
        {
          key,
          digest: Buffer.from(key.hash, 'hex'),
          expiresAtMs: key.expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(key.expiresAt),
        },
      ]),
    );
  }

  /**
   * The key that a client shows, or undefined for one that is unknown, disabled or expired: the caller cannot
   * tell these apart, so neither can the client. How long it takes tells nothing of a key: what is looked up
   * is its hash, which nobody can steer, and the last comparison looks at every byte.
   */
  find(plain: string): KeySettings | undefined {
    const digest = createHash('sha256').update(plain, 'utf8').digest();
    const entry = this.#entries.get(digest.toString('hex'));
    if (entry === undefined || !timingSafeEqual(entry.digest, digest)) return undefined;
    if (entry.key.disabled || this.#now() >= entry.expiresAtMs) return undefined;
    return entry.key;
  }
}
