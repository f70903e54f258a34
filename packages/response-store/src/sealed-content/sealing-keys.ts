import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { type SealingKey, sealingKeyOf } from './envelope.ts';

export type SealingConnection = Pick<Redis, 'get' | 'set'>;

export interface SealingKeysOptions {
  connection: SealingConnection;
  /** Starts every key of the cell. */
  keyPrefix: string;
  /** Secrets of the operator: the first seals and all open. Without any, the service has one of its own in Redis. */
  secrets: readonly string[];
  onError: (error: unknown) => void;
  /** How often Redis is asked for the key of the service, in milliseconds; half a minute by default. */
  lookEveryMs?: number;
}

/**
 * The keys of a process.
 *
 * The key of the service is made once, by whichever process is first, and lies in Redis without an expiry. It survives
 * restarts, and all replicas have the same. Where Redis loses it, the first process that looks puts its own back, and the
 * others go on to open what theirs has sealed. An operator who sets secrets later goes on to open with it.
 */
export class SealingKeys {
  readonly #options: SealingKeysOptions;
  readonly #key: string;
  readonly #configured: readonly SealingKey[];
  /** Those that the service has had, the one in use first. */
  #own: { secret: string; key: SealingKey }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: SealingKeysOptions) {
    this.#options = options;
    this.#key = `${options.keyPrefix}sealing-key`;
    this.#configured = options.secrets.map(sealingKeyOf);
  }

  /** The first seals, all open. None before the start. */
  get all(): readonly SealingKey[] {
    return [...this.#configured, ...this.#own.map(({ key }) => key)];
  }

  /** Resolves when the keys are there. Redis must answer. */
  async start(): Promise<void> {
    await this.#look();
    this.#timer = setInterval(() => this.#lookAgain(), this.#options.lookEveryMs ?? 30_000);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  #lookAgain(): void {
    this.#looking ??= this.#look()
      .catch((error: unknown) => this.#options.onError(error))
      .finally(() => {
        this.#looking = undefined;
      });
  }

  async #look(): Promise<void> {
    const { connection } = this.#options;
    if (this.#configured.length === 0) {
      const secret = this.#own[0]?.secret ?? randomBytes(32).toString('base64url');
      await connection.set(this.#key, secret, 'NX');
    }
    const secret = await connection.get(this.#key);
    if (secret === null || secret === this.#own[0]?.secret) return;
    const others = this.#own.filter((each) => each.secret !== secret);
    this.#own = [{ secret, key: sealingKeyOf(secret) }, ...others];
  }
}
