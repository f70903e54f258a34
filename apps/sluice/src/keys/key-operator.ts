import { KeyChanges, type StoredKeys } from '@sluice/api/change-keys';
import type { Settings } from '@sluice/config';
import { defaultCell, isWrittenSafely, ResponseStore } from '@sluice/response-store';
import { closeRedis, createLogger, requireRedis, usedMemoryOf, writerClient } from '@sluice/runtime';
import { KeyStore } from '@sluice/stored-keys';
import { orExplain } from './explain-refusal.ts';

/** The keys of a service as an operator reaches them: over Redis itself, whether an api runs or not. */
export interface KeyOperator {
  settings: Settings;
  read: () => Promise<StoredKeys>;
  /** What tenants use now; see the store. */
  tenantUse: ResponseStore['tenantUse'];
  /** Most memory that Redis may use; undefined when it does not say. */
  redisBytes: () => Promise<number | undefined>;
  /**
   * Changes keys in one step; see `KeyChanges`.
   *
   * @throws {FatalError} when Redis refuses the change, or does not say whether it was made.
   */
  change: KeyChanges['change'];
  [Symbol.asyncDispose]: () => Promise<void>;
}

/** How long a change may take to the disk when nothing else is asked for: a log is usually written each second. */
const onDiskWithinMs = 1500;

/** @throws {FatalError} that says what to change, when Redis cannot be used. */
export async function openKeyOperator(settings: Settings & { redisUrl: string }): Promise<KeyOperator> {
  const { redisUrl: url, keyPrefix, retention, durability, timeouts } = settings;
  const logger = createLogger({ name: 'operator', level: 'silent' });
  const connection = writerClient(url, { logger });
  try {
    await requireRedis(connection, { url, logger, signal: new AbortController().signal });
  } catch (error) {
    await closeRedis(connection);
    throw error;
  }
  const responses = new ResponseStore({
    commands: connection,
    largeValues: connection,
    keyPrefix,
    retention,
  });
  const store = new KeyStore({ connection, keyPrefix: responses.keys.inCell(defaultCell).prefix });
  const isSafe = async () => {
    if (durability !== 'local') {
      return isWrittenSafely(connection, { durability, withinMs: timeouts.durabilityMs });
    }
    const onDisk = { durability: 'fsync', withinMs: onDiskWithinMs } as const;
    // A revocation should survive a crash of Redis. One without a log, or of before 7.2, cannot promise that.
    await isWrittenSafely(connection, onDisk).catch(() => undefined);
    return true;
  };
  const changes = new KeyChanges({ store, isSafe });
  return {
    settings,
    read: () => orExplain(changes.read()),
    tenantUse: (tenants) => orExplain(responses.tenantUse(tenants)),
    redisBytes: async () => usedMemoryOf(await orExplain(connection.info('memory'))).limitBytes,
    change: (decide) => orExplain(changes.change(decide)),
    [Symbol.asyncDispose]: () => closeRedis(connection),
  };
}
