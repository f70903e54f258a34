import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { type SealingKey, sealingKeyOf } from './envelope.ts';

export type SealingConnection = Pick<Redis, 'get' | 'set'>;

export interface SealingKeysOptions {
  connection: SealingConnection;
  /** Starts every key of the cell. */
  keyPrefix: string;
  /** Other cells, which have a copy of the key: a process that starts while the first one is away, or empty, takes it from there. */
  copies?: () => readonly Pick<SealingKeysOptions, 'connection' | 'keyPrefix'>[];
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
 * restarts, and all replicas have the same. Where Redis loses it, the first process that looks puts its own back, or the copy
 * of another cell, and the others go on to open what theirs has sealed. An operator who sets secrets later goes on to open with it.
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
    this.#key = keyOf(options);
    this.#configured = options.secrets.map(sealingKeyOf);
  }

  /** The first seals, all open. None before the start. */
  get all(): readonly SealingKey[] {
    return [...this.#configured, ...this.#own.map(({ key }) => key)];
  }

  /** Resolves when the keys are there. Redis must answer, or another cell that has a copy. */
  async start(): Promise<void> {
    try {
      await this.#look();
    } catch (error) {
      if (!(await this.#takeCopy())) throw error;
    }
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
    const secret = (await connection.get(this.#key)) ?? (await this.#putBack());
    if (secret === null) return;
    this.#take(secret);
    await this.#copy(secret);
  }

  /** Gives the first cell the key that this process or another cell has, or a new one; null where it needs none. */
  async #putBack(): Promise<string | null> {
    // The first cell may have lost its data, and a new key would take the place of the last copies.
    if (this.#own.length === 0) await this.#takeCopy();
    if (this.#configured.length > 0) return null;
    const { connection } = this.#options;
    const secret = this.#own[0]?.secret ?? randomBytes(32).toString('base64url');
    await connection.set(this.#key, secret, 'NX');
    return connection.get(this.#key);
  }

  get #copies() {
    return this.#options.copies?.() ?? [];
  }

  #take(secret: string): void {
    if (secret === this.#own[0]?.secret) return;
    const others = this.#own.filter((each) => each.secret !== secret);
    this.#own = [{ secret, key: sealingKeyOf(secret) }, ...others];
  }

  /** A cell that is away gets its copy with a later look. */
  async #copy(secret: string): Promise<void> {
    await Promise.allSettled(this.#copies.map((copy) => copy.connection.set(keyOf(copy), secret)));
  }

  /** Takes the key from a cell that has it. False when none does, or none is needed. */
  async #takeCopy(): Promise<boolean> {
    const copies = this.#copies;
    const found = await Promise.allSettled(copies.map((copy) => copy.connection.get(keyOf(copy))));
    const [secret] = found.flatMap((each) => (each.status === 'fulfilled' && each.value) || []);
    if (secret !== undefined) this.#take(secret);
    return secret !== undefined || (copies.length > 0 && this.#configured.length > 0);
  }
}

function keyOf({ keyPrefix }: Pick<SealingKeysOptions, 'keyPrefix'>): string {
  return `${keyPrefix}sealing-key`;
}
