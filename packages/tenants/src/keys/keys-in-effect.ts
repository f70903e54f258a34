import { changedKeys, ConfigError, isLoopback, type KeySettings, type Settings } from '@sluice/config';
import {
  type EntriesSnapshot,
  EntriesWatch,
  isReplyMissing,
  type Logger,
  throttledWarning,
  untilRedisTakes,
} from '@sluice/runtime';
import type { LiveSettings } from '../live-settings.ts';
import type { KeyStore } from '../stored/key-store.ts';
import { type StoredKey, StoredKeyReader, storedKeyText, type UnreadableKey } from '../stored/stored-key.ts';
import {
  developmentKeyId,
  developmentKeyRevokedAt,
  keyOfKeylessService,
  mayTakeDevelopmentKey,
  revokedDevelopmentKey,
  withDevelopmentKey,
} from './development-key.ts';
import { describeConflict, uniteKeys } from './unite-keys.ts';

export interface KeysInEffectOptions {
  /** What the process started with. */
  settings: Settings;
  live: Pick<LiveSettings, 'replace'>;
  store: Pick<KeyStore, 'version' | 'read' | 'change'>;
  logger: Logger;
  /** How often the stored keys are looked at; see `EntriesWatch`. */
  lookEveryMs?: number | undefined;
}

/** Keys of the file and of Redis. */
export interface KnownKeys {
  /** The keys of the file, or the development key of a service that has none. */
  file: readonly KeySettings[];
  /** In the order in which they were made; undefined until Redis has answered. */
  stored: readonly StoredKey[] | undefined;
  /** When a stored key was revoked, also when Redis has lost that. */
  revokedAt: (key: StoredKey) => string | undefined;
}

/**
 * Puts into effect what the settings file and Redis say of keys.
 *
 * Until Redis has answered once, the keys of the file are taken and nobody can tell whether another one is known. After
 * that an outage changes nothing. A key that this process has seen revoked stays refused when Redis has lost the
 * revocation, which is then written again, for the other processes. The development key is taken on loopback, beside stored
 * keys, too, until it is revoked by its name or the file has keys.
 */
export class KeysInEffect {
  readonly #options: KeysInEffectOptions;
  readonly #reader = new StoredKeyReader();
  readonly #watch: EntriesWatch;
  readonly #warnOfStore: (error: unknown) => void;
  #settings: Settings;
  #united: readonly KeySettings[] = [];
  /** Undefined until Redis has answered. */
  #stored: readonly StoredKey[] | undefined;
  #unreadable: readonly UnreadableKey[] = [];
  #wereStored = false;
  /** As it was read when it was last needed. */
  #development: KeySettings | undefined;
  #developmentRevokedAt: string | undefined;
  /** When keys were revoked that this process has seen revoked, by their hashes. */
  readonly #revoked = new Map<string, string>();
  #warnings = new Set<string>();

  constructor(options: KeysInEffectOptions) {
    this.#options = options;
    this.#settings = options.settings;
    const { store, logger, lookEveryMs } = options;
    this.#warnOfStore = throttledWarning(logger, 'stored keys cannot be read, the keys in effect stay').warn;
    this.#watch = new EntriesWatch({
      store,
      ...(lookEveryMs !== undefined && { intervalMs: lookEveryMs }),
      apply: (snapshot) => this.#takeStored(snapshot),
      // That Redis is away is said elsewhere.
      onError: (error) => {
        if (!isReplyMissing(error)) this.#warnOfStore(error);
      },
    });
  }

  /**
   * Takes the stored keys as soon as Redis answers, and each change of them from then on. What is stored there and cannot
   * be read keeps nobody out whose key is in the file.
   *
   * @throws {ConfigError} when there is no key at all, and the service can be reached from elsewhere.
   */
  async start(signal: AbortSignal): Promise<void> {
    await untilRedisTakes(async () => {
      try {
        await this.#watch.look();
      } catch (error) {
        if (isReplyMissing(error) || error instanceof ConfigError) throw error;
        this.#warnOfStore(error);
      }
    }, signal);
    this.#watch.start();
  }

  /** Takes a change of the stored keys that was made here, at once. Does nothing before Redis has answered `start`. */
  async takeChange(): Promise<void> {
    if (this.#stored === undefined) return;
    try {
      await this.#watch.look();
    } catch (error) {
      this.#warnOfStore(error); // The watch looks again.
    }
  }

  /** Ends the watch of the stored keys; may be called twice, or without a start. */
  async stop(): Promise<void> {
    await this.#watch.stop();
  }

  /** The settings whose keys are in effect. */
  get settings(): Settings {
    return this.#settings;
  }

  /** All keys there are, in effect or not. */
  get known(): KnownKeys {
    return {
      file: this.#effective.keys,
      stored: this.#stored,
      revokedAt: ({ hash, revokedAt }) => revokedAt ?? this.#revoked.get(hash),
    };
  }

  get acceptsDevelopmentKey(): boolean {
    return this.#developmentKey !== undefined;
  }

  /**
   * Takes the keys and the limits of the settings file.
   *
   * @throws {ConfigError} when the service would be without a key and may not be; nothing has changed then.
   */
  async takeSettings(settings: Settings): Promise<void> {
    if (settings.keys.length === 0 && this.#stored !== undefined)
      await this.#findDevelopmentKey(this.#wereStored);
    this.#settings = settings;
    this.#putIntoEffect();
  }

  /** @throws {ConfigError} like `takeSettings`. */
  async #takeStored({ version, entries }: EntriesSnapshot): Promise<void> {
    const { keys, unreadable } = this.#reader.read(entries);
    const wereStored = this.#wereStored || version !== undefined || entries.size > 0;
    if (this.#settings.keys.length === 0) await this.#findDevelopmentKey(wereStored);
    const isFirst = this.#stored === undefined;
    const before = this.#united;
    for (const { hash, revokedAt } of keys) if (revokedAt !== undefined) this.#revoked.set(hash, revokedAt);
    this.#developmentRevokedAt ??= developmentKeyRevokedAt(keys);
    this.#stored = keys;
    this.#wereStored = wereStored;
    this.#unreadable = unreadable;
    this.#putIntoEffect();
    if (isFirst && !wereStored) return;
    const { added, revoked, changed } = changedKeys(before, this.#united);
    const fields = { keysAdded: added, keysRevoked: revoked, keysChanged: changed };
    this.#options.logger.info(fields, isFirst ? 'stored keys read' : 'stored keys changed');
    await this.#revokeAgain(version);
  }

  /** Whether Redis has lost the revocation of a key, as a failover may lose what the replica did not have. */
  #isLost({ hash, revokedAt }: StoredKey): boolean {
    return revokedAt === undefined && this.#revoked.has(hash);
  }

  /** Writes lost revocations again. When somebody else has changed keys meanwhile, the next look does it. */
  async #revokeAgain(version: string | undefined): Promise<void> {
    const entries = (this.#stored ?? []).flatMap((key) => {
      const revokedAt = this.#revoked.get(key.hash);
      return this.#isLost(key) && revokedAt !== undefined
        ? [[key.id, storedKeyText({ ...key, revokedAt })] as const]
        : [];
    });
    const developmentAt = this.#developmentRevokedAt;
    if (developmentAt !== undefined && !this.#stored?.some(({ id }) => id === developmentKeyId)) {
      entries.push([developmentKeyId, storedKeyText(revokedDevelopmentKey(developmentAt))]);
    }
    if (entries.length === 0) return;
    try {
      await this.#options.store.change({ from: { version }, entries: new Map(entries) });
    } catch (error) {
      this.#warnOfStore(error);
    }
  }

  /** The development key while it is taken. Where the process listens is as it started. */
  get #developmentKey(): KeySettings | undefined {
    const { server } = this.#options.settings;
    const { keys } = this.#settings;
    const mayBe = this.#stored !== undefined && mayTakeDevelopmentKey({ keys, server });
    return mayBe && this.#developmentRevokedAt === undefined ? this.#development : undefined;
  }

  /**
   * Reads the development key, or makes it. A service with stored keys goes without when it cannot keep one.
   *
   * @throws {ConfigError} when there is no other key, and none may be made or kept.
   */
  async #findDevelopmentKey(hasOthers: boolean): Promise<void> {
    if (hasOthers && !isLoopback(this.#options.settings.server.host)) return;
    try {
      this.#development = await keyOfKeylessService(this.#options.settings);
    } catch (error) {
      if (!hasOthers || !(error instanceof ConfigError)) throw error;
      this.#development = undefined;
    }
  }

  /** The settings with the keys that are taken besides the stored ones. */
  get #effective(): Settings {
    const development = this.#developmentKey;
    return development === undefined ? this.#settings : withDevelopmentKey(this.#settings, development);
  }

  #putIntoEffect(): void {
    const { limits } = this.#settings;
    const stored = this.#stored ?? [];
    const { keys, conflicts } = uniteKeys({
      settings: this.#effective,
      stored: stored.filter((key) => !this.#isLost(key)),
    });
    this.#united = keys;
    this.#options.live.replace({ keys: this.#united, isComplete: this.#stored !== undefined, limits });
    this.#warn([
      ...this.#unreadable.map(({ id, problem }) => ({
        keyId: id,
        problem,
        message: 'stored key cannot be read and is refused',
      })),
      ...stored
        .filter((key) => this.#isLost(key))
        .map(({ id }) => ({
          keyId: id,
          problem: 'Redis had lost its revocation, which is written again',
          message: 'stored key was revoked and stays refused',
        })),
      ...conflicts.map((conflict) => ({
        keyId: conflict.id,
        problem: describeConflict(conflict),
        message: 'stored key contradicts the settings file or an older key, which wins',
      })),
    ]);
  }

  /** Says what is new since the last time. */
  #warn(findings: readonly Finding[]): void {
    const warnings = new Set<string>();
    for (const { message, ...fields } of findings.slice(0, mostNamed)) {
      const warning = JSON.stringify(fields);
      warnings.add(warning);
      if (!this.#warnings.has(warning)) this.#options.logger.warn(fields, message);
    }
    this.#warnings = warnings;
  }
}

/** Most stored keys that are warned of at a time. */
const mostNamed = 50;

interface Finding {
  keyId: string;
  problem: string;
  message: string;
}
