import { type StoredKind, type StoredSnapshot, textOfEntry } from '../src/models/stored-settings.ts';

interface FakeHash {
  version: string | undefined;
  entries: Map<string, string>;
}

/** A store in memory, which can be changed by somebody else between a read and a change. */
export class FakeModelStore {
  hashes: Record<StoredKind, FakeHash> = {
    models: { version: undefined, entries: new Map() },
    providers: { version: undefined, entries: new Map() },
  };
  clock = 1_000;
  beforeChange: (() => void) | undefined;
  #versions = 0;

  version(): Promise<string | undefined> {
    return this.read().then(({ version }) => version);
  }

  read(): Promise<StoredSnapshot> {
    const { models, providers } = this.hashes;
    const isNew = models.version === undefined && providers.version === undefined;
    return Promise.resolve({
      version: isNew ? undefined : `${models.version ?? ''} ${providers.version ?? ''}`,
      models: { version: models.version, entries: new Map(models.entries) },
      providers: { version: providers.version, entries: new Map(providers.entries) },
    });
  }

  change(
    kind: StoredKind,
    {
      from,
      entries,
      version,
    }: { from: StoredSnapshot; entries: ReadonlyMap<string, string>; version: string },
  ): Promise<boolean> {
    this.beforeChange?.();
    this.beforeChange = undefined;
    const { models, providers } = this.hashes;
    if (from.models.version !== models.version || from.providers.version !== providers.version)
      return Promise.resolve(false);
    const own = this.hashes[kind];
    own.version = version;
    for (const [id, text] of entries) {
      if (text === '') own.entries.delete(id);
      else own.entries.set(id, text);
    }
    return Promise.resolve(true);
  }

  now(): Promise<number> {
    return Promise.resolve(this.clock);
  }

  /** Stores a value as another process would. */
  put(kind: StoredKind, value: { id: string }): void {
    this.#versions += 1;
    this.hashes[kind].version = `other ${this.#versions}`;
    this.hashes[kind].entries.set(value.id, textOfEntry(kind, { value, changedAt: 1 }));
  }
}
