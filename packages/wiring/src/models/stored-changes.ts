import { randomUUID } from 'node:crypto';
import { StoredRefusal, suggestName } from '@sluice/config';
import { isReplyMissing, pause, versionField } from '@sluice/runtime';
import {
  type AcceptedTimeouts,
  acceptedForMs,
  activeOf,
  type ModelsAndProviders,
  type ModelStore,
  parseStored,
  type StoredEntry,
  type StoredKind,
  type StoredSettings,
  type StoredSnapshot,
  type StoredValues,
  textOfEntry,
} from './stored-settings.ts';

/** Members that a change gives, as in the file; null takes one away. */
export type MemberPatch = Record<string, unknown>;

export interface StoredChangesOptions {
  store: Pick<ModelStore, 'read' | 'change' | 'now'>;
  /** The models and providers of the settings file as it is now. */
  file: () => ModelsAndProviders;
  timeouts: AcceptedTimeouts;
}

/** A removed entry is kept for this long at least, in milliseconds, and until whatever was accepted for it has ended. */
const keptAtLeastMs = 7 * 86_400_000;

/** Most entries of a kind that are stored, as many models as a file may have. */
const mostEntries = 10_000;

/** How often a change is sent until Redis says what has become of it, and the pause between. */
const mostSends = 10;
const sendAgainMs = 300;

/** How often a change is made anew because others were faster. */
const mostRounds = 50;

const nouns: Record<StoredKind, string> = { models: 'model', providers: 'provider' };

/**
 * Changes of stored models or of stored providers. Every process follows within two seconds. A change is decided on what was read, and
 * made only if that has not changed; a call whose reply was lost is sent again and counts once.
 */
export class StoredChanges<Kind extends StoredKind> {
  readonly #kind: Kind;
  readonly #options: StoredChangesOptions;

  constructor(kind: Kind, options: StoredChangesOptions) {
    this.#kind = kind;
    this.#options = options;
  }

  /**
   * Stores what `decide` makes of everything that is stored.
   *
   * @returns the value.
   * @throws what `decide` throws, such as a `StoredRefusal`.
   */
  async make(
    decide: (stored: StoredSettings, now: number) => StoredValues[Kind],
    { isRemoval = false } = {},
  ): Promise<StoredValues[Kind]> {
    const { store, timeouts } = this.#options;
    const forgottenAfterMs = Math.max(keptAtLeastMs, acceptedForMs(timeouts));
    for (let round = 0; round < mostRounds; round += 1) {
      const snapshot = await store.read();
      const now = await store.now();
      const stored: StoredSettings = {
        models: parseStored('models', snapshot.models),
        providers: parseStored('providers', snapshot.providers),
      };
      const value = decide(stored, now);
      const entry = { value, changedAt: now, ...(isRemoval && { removedAt: now }) };
      const entries = new Map([[value.id, textOfEntry(this.#kind, entry)]]);
      for (const [id, { removedAt = now }] of stored[this.#kind]) {
        if (removedAt < now - forgottenAfterMs && id !== value.id) entries.set(id, '');
      }
      if (await this.#send(snapshot, entries)) return value;
    }
    throw new Error(`Others change ${this.#kind} all the time, so nothing was changed`);
  }

  async #send(from: StoredSnapshot, entries: ReadonlyMap<string, string>): Promise<boolean> {
    const change = { from, entries, version: randomUUID() };
    for (let sends = 1; ; sends += 1) {
      try {
        return await this.#options.store.change(this.#kind, change);
      } catch (error) {
        if (!isReplyMissing(error) || sends === mostSends) throw error;
      }
      await pause(sendAgainMs, new AbortController().signal);
    }
  }

  /** @throws {StoredRefusal} when nothing can be added under this id. */
  refuseTaken(id: unknown, stored: StoredSettings): void {
    const kind = this.#kind;
    const noun = nouns[kind];
    if (typeof id === 'string') {
      this.#refuseOfFile(id);
      if (id === versionField) {
        const message = `"${id}" cannot be the id of a stored ${noun}; name it in the settings file`;
        throw new StoredRefusal('invalid', [{ path: ['id'], message }]);
      }
      const known = stored[kind].get(id);
      if (known && known.removedAt === undefined) {
        throw new StoredRefusal('exists', [
          { path: ['id'], message: `"${id}" is stored already; change it` },
        ]);
      }
    }
    if (activeOf(stored[kind]).length >= mostEntries) {
      throw new StoredRefusal('invalid', [
        { path: [], message: `there are ${mostEntries} stored ${kind} already` },
      ]);
    }
  }

  /** The entry that is stored under an id. @throws {StoredRefusal} when there is none that could be changed. */
  known(id: string, stored: StoredSettings): StoredEntry<StoredValues[Kind]> {
    this.#refuseOfFile(id);
    const own: ReadonlyMap<string, StoredEntry<StoredValues[Kind]>> = stored[this.#kind];
    const known = own.get(id);
    if (known && known.removedAt === undefined) return known;
    const ids = activeOf(own).map(([each]) => each);
    const hint = ids.length === 0 ? 'there are none' : suggestName(id, ids);
    const message = `"${id}" is not the id of a stored ${nouns[this.#kind]}; ${hint}`;
    throw new StoredRefusal('unknown', [{ path: ['id'], message }]);
  }

  /** A value with the members of a patch. @throws {StoredRefusal} for another id. */
  patched(known: { id: string }, patch: MemberPatch): Record<string, unknown> {
    if (Object.hasOwn(patch, 'id') && patch['id'] !== known.id) {
      throw new StoredRefusal('invalid', [
        {
          path: ['id'],
          message: `cannot be changed; add another ${nouns[this.#kind]} and remove this one`,
        },
      ]);
    }
    return Object.fromEntries(Object.entries({ ...known, ...patch }).filter(([, value]) => value !== null));
  }

  #refuseOfFile(id: string): void {
    if (!this.#options.file()[this.#kind].some((each) => each.id === id)) return;
    const message = `"${id}" is a ${nouns[this.#kind]} of the settings file, which wins; change it there`;
    throw new StoredRefusal('of_file', [{ path: ['id'], message }]);
  }
}
