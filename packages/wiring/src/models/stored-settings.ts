import type { ModelSettings, Settings, StoredProvider } from '@sluice/config';
import { type EntriesConnection, type EntriesSnapshot, StoredEntries } from '@sluice/runtime';

/** The models of a service and the upstreams that their routes name. */
export type ModelsAndProviders = Pick<Settings, 'models' | 'providers'>;

/** The values that operators store beside the settings file, by the names of its sections. A provider is stored as it was given. */
export interface StoredValues {
  models: ModelSettings;
  providers: StoredProvider;
}

export type StoredKind = keyof StoredValues;

/** A model or a provider that an operator has stored in Redis. Times are milliseconds of the store's clock. */
export interface StoredEntry<Value> {
  value: Value;
  changedAt: number;
  /** When it was removed; what waits for a removed model is served for a while after that. */
  removedAt?: number;
}

/** Everything that is stored, by id. */
export type StoredSettings = {
  readonly [Kind in StoredKind]: ReadonlyMap<string, StoredEntry<StoredValues[Kind]>>;
};

/** A stored entry that is not in effect, and why. */
export interface UnusableEntry {
  id: string;
  problem: string;
}

/** The member of a text that holds the value. */
const memberOf: Record<StoredKind, string> = { models: 'model', providers: 'provider' };

/** The text of an entry, as Redis holds it. */
export function textOfEntry(kind: StoredKind, { value, ...times }: StoredEntry<unknown>): string {
  return JSON.stringify({ [memberOf[kind]]: value, ...times });
}

/** Every stored entry, by its id; a text that no release of this service has written is left out. */
export function parseStored<Kind extends StoredKind>(
  kind: Kind,
  { entries }: Pick<EntriesSnapshot, 'entries'>,
): Map<string, StoredEntry<StoredValues[Kind]>> {
  const found = new Map<string, StoredEntry<StoredValues[Kind]>>();
  for (const [id, text] of entries) {
    const entry = parseEntry(text, memberOf[kind]);
    // The cast holds as far as it must: a value is checked before it is in effect.
    if (entry?.value.id === id) found.set(id, entry as StoredEntry<never>);
  }
  return found;
}

function parseEntry(text: string, member: string): StoredEntry<{ id?: unknown }> | undefined {
  try {
    const { [member]: value, changedAt, removedAt } = JSON.parse(text) as Record<string, unknown>;
    if (typeof value !== 'object' || value === null || typeof changedAt !== 'number') return undefined;
    return { value, changedAt, ...(typeof removedAt === 'number' && { removedAt }) };
  } catch {
    return undefined;
  }
}

/** The entries that were not removed, in the order of their ids. */
export function activeOf<Value>(stored: ReadonlyMap<string, StoredEntry<Value>>): [string, Value][] {
  return [...stored]
    .filter(([, { removedAt }]) => removedAt === undefined)
    .map(([id, { value }]): [string, Value] => [id, value])
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** Everything that is stored at one moment. */
export interface StoredSnapshot {
  /** Differs after each change; undefined when nothing has ever been stored. */
  version: string | undefined;
  models: EntriesSnapshot;
  providers: EntriesSnapshot;
}

/** The stored models of a service and the stored providers that their routes may name, each in a hash of its own. */
export class ModelStore {
  readonly #entries: Record<StoredKind, StoredEntries>;

  /** `keyPrefix` starts every key of the cell. */
  constructor({ connection, keyPrefix }: { connection: EntriesConnection; keyPrefix: string }) {
    this.#entries = {
      models: new StoredEntries({ connection, key: `${keyPrefix}models` }),
      providers: new StoredEntries({ connection, key: `${keyPrefix}providers` }),
    };
  }

  /** The version of both, for two short commands that are sent at once. */
  async version(): Promise<string | undefined> {
    const { models, providers } = this.#entries;
    return versionOf(...(await Promise.all([models.version(), providers.version()])));
  }

  /** Reads the models before the providers: a provider is stored before the models that name it. */
  async read(): Promise<StoredSnapshot> {
    const models = await this.#entries.models.read();
    const providers = await this.#entries.providers.read();
    return { version: versionOf(models.version, providers.version), models, providers };
  }

  /** Changes entries of one kind, unless entries of either have changed since they were read. Returns whether it did. */
  change(
    kind: StoredKind,
    {
      from,
      entries,
      version,
    }: { from: StoredSnapshot; entries: ReadonlyMap<string, string>; version: string },
  ): Promise<boolean> {
    const other = kind === 'models' ? 'providers' : 'models';
    const beside = { entries: this.#entries[other], version: from[other].version };
    return this.#entries[kind].change({ from: from[kind], entries, version, beside });
  }

  now(): Promise<number> {
    return this.#entries.models.now();
  }
}

function versionOf(models: string | undefined, providers: string | undefined): string | undefined {
  return models === undefined && providers === undefined ? undefined : `${models ?? ''} ${providers ?? ''}`;
}

/** How long a removed model and its queue are served at least, in milliseconds. */
export const defaultKeepMs = 300_000;

/** Whatever was accepted for a model has ended this long after its removal, in milliseconds. */
export function acceptedForMs(
  { queueMs, backgroundQueueMs, totalMs }: AcceptedTimeouts,
  keepMs = defaultKeepMs,
): number {
  return keepMs + Math.max(queueMs, backgroundQueueMs) + totalMs;
}

export type AcceptedTimeouts = Pick<Settings['timeouts'], 'queueMs' | 'backgroundQueueMs' | 'totalMs'>;
