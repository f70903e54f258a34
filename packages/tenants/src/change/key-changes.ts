import { randomUUID } from 'node:crypto';
import { type EntriesChange, isReplyMissing, pause } from '@sluice/runtime';
import type { KeyStore } from '../stored/key-store.ts';
import { type StoredKey, StoredKeyReader, storedKeyText, type UnreadableKey } from '../stored/stored-key.ts';
import { KeyChangeFailed } from './key-refusal.ts';

/** The stored keys as they were read. */
export interface StoredKeys {
  keys: StoredKey[];
  unreadable: UnreadableKey[];
  /** The time of Redis, in milliseconds since 1970. */
  now: number;
}

export interface KeyChangesOptions {
  store: Pick<KeyStore, 'read' | 'change' | 'now'>;
  /** Whether what was just written is as safe as `durability` of the settings asks for. */
  isSafe: () => Promise<boolean>;
}

/** How often a change is sent until Redis says what has become of it, and the pause between. */
const mostSends = 10;
const sendAgainMs = 300;

/** How often a change is made anew because others were faster. */
const mostRounds = 50;

/** Changes the stored keys of a service, whether an api runs or not. Every api follows within seconds. */
export class KeyChanges {
  readonly #store: KeyChangesOptions['store'];
  readonly #isSafe: KeyChangesOptions['isSafe'];
  readonly #reader = new StoredKeyReader();

  constructor({ store, isSafe }: KeyChangesOptions) {
    this.#store = store;
    this.#isSafe = isSafe;
  }

  async read(): Promise<StoredKeys> {
    const { version: _version, ...stored } = await this.#read();
    return stored;
  }

  /**
   * Changes keys in one step. `decide` gets them as they are and returns what to store, or nothing when there is nothing
   * to do. It is asked again when another operator was faster, so it must recognise its own change.
   *
   * @returns whether the change is as safe as `durability` of the settings asks for.
   * @throws {KeyChangeFailed} when nobody knows whether the change was made, or others were faster again and again.
   */
  async change(decide: (stored: StoredKeys) => readonly StoredKey[]): Promise<boolean> {
    for (let round = 0; round < mostRounds; round += 1) {
      const { version, ...stored } = await this.#read();
      const entries = new Map(decide(stored).map((key) => [key.id, storedKeyText(key)]));
      // A change that is there already may not have been safe when it was made.
      const isMade =
        entries.size === 0 || (await this.#send({ from: { version }, entries, version: randomUUID() }));
      // It is made, whatever Redis says now.
      if (isMade) return this.#isSafe().catch(() => false);
    }
    throw new KeyChangeFailed('contended');
  }

  async #read(): Promise<StoredKeys & { version: string | undefined }> {
    const snapshot = await this.#store.read();
    return {
      ...this.#reader.read(snapshot.entries),
      now: await this.#store.now(),
      version: snapshot.version,
    };
  }

  /** Sends one change until there is a reply. It is known by its version, so it counts once. */
  async #send(change: EntriesChange): Promise<boolean> {
    for (let sends = 1; ; sends += 1) {
      try {
        return await this.#store.change(change);
      } catch (error) {
        if (!isReplyMissing(error)) throw error;
        if (sends === mostSends) throw new KeyChangeFailed('unanswered', error);
      }
      await pause(sendAgainMs, new AbortController().signal);
    }
  }
}
