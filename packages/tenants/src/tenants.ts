import type { KeySettings, Settings } from '@sluice/config';
import type { EntriesConnection, Logger } from '@sluice/runtime';
import {
  createStoredKey,
  type IssuedKey,
  type KeyChanger,
  type RevokedKey,
  revokeStoredKey,
  type RotatedKey,
  rotateStoredKey,
} from './change/change-keys.ts';
import { changeTenant, type TenantChange, type TenantChanged } from './change/change-tenant.ts';
import { KeyChanges, type StoredKeys } from './change/key-changes.ts';
import { developmentKeyInEffect, withDevelopmentKey } from './keys/development-key.ts';
import { KeysInEffect, type KnownKeys } from './keys/keys-in-effect.ts';
import { type Tenant, tenantsOf } from './keys/tenants-of-keys.ts';
import { type KeyConflict, uniteKeys } from './keys/unite-keys.ts';
import { limitsInEffect } from './limits-in-effect.ts';
import { LiveSettings } from './live-settings.ts';
import { KeyStore } from './stored/key-store.ts';
import { reportTenants, type TenantReport, type UseMeter } from './tenant-report.ts';

export interface TenantsOptions {
  /** The settings that the process started with. */
  settings: Settings;
  /** The keys and limits in effect in this process; by default nobody else reads them. */
  live?: LiveSettings;
  connection: EntriesConnection;
  /** Starts every key of the cell. */
  keyPrefix: string;
  store: UseMeter;
  /** Most memory of Redis; undefined when nobody knows. */
  redisBytes: () => number | undefined | Promise<number | undefined>;
  /** Whether what was just written is as safe as `durability` of the settings asks for. */
  isSafe: () => Promise<boolean>;
  logger: Logger;
  /** How often an api looks for changes of the stored keys, in milliseconds; every two seconds by default. */
  lookEveryMs?: number | undefined;
}

/** Every key of a service and what comes of them, read once. */
export interface KeysOfService {
  /** With the development key as a key of the file where it is in effect. */
  settings: Settings;
  hasDevelopmentKey: boolean;
  stored: StoredKeys;
  /** The keys of the file come first. */
  keys: KeySettings[];
  conflicts: KeyConflict[];
  tenants: Tenant[];
}

/**
 * The tenants of a service: their keys in the settings file and in Redis, their limits, and what they use of those.
 *
 * An api starts it to follow every change. A command reads and changes keys without a start, whether an api runs or not.
 * Every change is one script, which all apis follow within seconds.
 */
export class Tenants {
  readonly live: LiveSettings;
  readonly #options: TenantsOptions;
  readonly #inEffect: KeysInEffect;
  readonly #changes: KeyChanges;

  constructor(options: TenantsOptions) {
    const { settings, connection, keyPrefix, logger, isSafe, lookEveryMs } = options;
    const store = new KeyStore({ connection, keyPrefix });
    this.live = options.live ?? new LiveSettings({ ...settings, isComplete: false });
    this.#options = options;
    this.#inEffect = new KeysInEffect({ settings, live: this.live, store, logger, lookEveryMs });
    this.#changes = new KeyChanges({ store, isSafe });
  }

  /** Follows the stored keys from now on; see `KeysInEffect`. */
  start(signal: AbortSignal): Promise<void> {
    return this.#inEffect.start(signal);
  }

  /** May be called twice, or without a start. */
  stop(): Promise<void> {
    return this.#inEffect.stop();
  }

  /** Takes the keys and the limits of the settings file; see `KeysInEffect`. */
  takeSettings(settings: Settings): Promise<void> {
    return this.#inEffect.takeSettings(settings);
  }

  /** All keys that a started one knows, in effect or not. */
  get known(): KnownKeys {
    return this.#inEffect.known;
  }

  get acceptsDevelopmentKey(): boolean {
    return this.#inEffect.acceptsDevelopmentKey;
  }

  readStored(): Promise<StoredKeys> {
    return this.#changes.read();
  }

  /** Reads the stored keys, and unites them with the others as an api does. */
  async read(): Promise<KeysOfService> {
    const stored = await this.readStored();
    const ofFile = this.#inEffect.settings;
    const development = await developmentKeyInEffect(ofFile, stored.keys);
    const settings = development === undefined ? ofFile : withDevelopmentKey(ofFile, development);
    const { keys, conflicts } = uniteKeys({ settings, stored: stored.keys });
    return {
      settings,
      hasDevelopmentKey: development !== undefined,
      stored,
      keys,
      conflicts,
      tenants: tenantsOf(keys, stored.now),
    };
  }

  /** @throws {KeyRefusal} with every problem, when the key makes no sense or contradicts another one. */
  createKey(wanted: Record<string, unknown>): Promise<IssuedKey> {
    return createStoredKey(this.#changer, wanted);
  }

  revokeKey(id: string): Promise<RevokedKey> {
    return revokeStoredKey(this.#changer, id);
  }

  rotateKey(rotation: { id: string; graceMs: number }): Promise<RotatedKey> {
    return rotateStoredKey(this.#changer, rotation);
  }

  /** Changes the weight and the limits of a tenant in all of its stored keys; see `changeTenant`. */
  changeLimits(change: TenantChange): Promise<TenantChanged> {
    return changeTenant(this.#changer, change);
  }

  /** Says of tenants, in their order, what they may do and what they use now. */
  async report(tenants: readonly Tenant[]): Promise<TenantReport> {
    const { store, redisBytes } = this.#options;
    const { limits } = this.live;
    const most = await redisBytes();
    return reportTenants(store, tenants, (own) => limitsInEffect(own, limits, most));
  }

  get #changer(): KeyChanger {
    return {
      settings: this.#inEffect.settings,
      change: async (decide) => {
        const changed = await this.#changes.change(decide);
        // Who asks for the keys next finds them changed.
        await this.#inEffect.takeChange();
        return changed;
      },
    };
  }
}
