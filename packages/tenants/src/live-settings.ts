import type { KeySettings, LiveLimits } from '@sluice/config';
import { KeyRing } from './keys/key-ring.ts';

export interface LiveSettingsOptions {
  keys: readonly KeySettings[];
  /** Whether these are all keys of the service; true by default. */
  isComplete?: boolean;
  limits: LiveLimits;
  /** The clock for the expiry of keys, in milliseconds since 1970; `Date.now` by default. */
  now?: () => number;
}

/**
 * The settings that take effect while a process runs: the API keys, with what their tenants may do, and the limits of
 * the service.
 *
 * Read each of them here at the moment of use, and do not keep it. A request that has found its key keeps that key with its
 * limits to the end, even if the key is revoked meanwhile.
 */
export class LiveSettings {
  readonly #now: (() => number) | undefined;
  #keys: KeyRing;
  #limits: LiveLimits;

  constructor({ keys, isComplete = true, limits, now }: LiveSettingsOptions) {
    this.#now = now;
    this.#keys = this.#ringOf(keys, isComplete);
    this.#limits = limits;
  }

  get keys(): KeyRing {
    return this.#keys;
  }

  get limits(): LiveLimits {
    return this.#limits;
  }

  /** Replaces all of them in one step: a request sees either the old ones or the new ones. */
  replace({ keys, isComplete = true, limits }: Omit<LiveSettingsOptions, 'now'>): void {
    const ring = this.#ringOf(keys, isComplete);
    this.#keys = ring;
    this.#limits = limits;
  }

  #ringOf(keys: readonly KeySettings[], isComplete: boolean): KeyRing {
    return new KeyRing({ keys, isComplete, ...(this.#now && { now: this.#now }) });
  }
}
