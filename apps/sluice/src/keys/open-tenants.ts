import type { Settings } from '@sluice/config';
import { defaultCell, isWrittenSafely, ResponseStore } from '@sluice/response-store';
import { closeRedis, createLogger, requireRedis, usedMemoryOf, writerClient } from '@sluice/runtime';
import { Tenants } from '@sluice/tenants';

/** The tenants of a service as an operator reaches them: over Redis itself, whether an api runs or not. */
export interface OpenTenants {
  tenants: Tenants;
  [Symbol.asyncDispose]: () => Promise<void>;
}

/** How long a change may take to reach the disk, by default: a log is usually written each second. */
const onDiskWithinMs = 1500;

/** @throws {FatalError} that says what to change, when Redis cannot be used. */
export async function openTenants(settings: Settings & { redisUrl: string }): Promise<OpenTenants> {
  const { redisUrl: url, keyPrefix, retention, durability, timeouts } = settings;
  const logger = createLogger({ name: 'operator', level: 'silent' });
  const connection = writerClient(url, { logger });
  try {
    await requireRedis(connection, { url, logger, signal: new AbortController().signal });
  } catch (error) {
    await closeRedis(connection);
    throw error;
  }
  const store = new ResponseStore({
    commands: connection,
    largeValues: connection,
    keyPrefix,
    retention,
  });
  const isSafe = async () => {
    if (durability !== 'local') {
      return isWrittenSafely(connection, { durability, withinMs: timeouts.durabilityMs });
    }
    const onDisk = { durability: 'fsync', withinMs: onDiskWithinMs } as const;
    // A revocation should survive a crash of Redis. One without a log, or of before 7.2, cannot promise that.
    await isWrittenSafely(connection, onDisk).catch(() => undefined);
    return true;
  };
  const tenants = new Tenants({
    settings,
    connection,
    keyPrefix: store.keys.inCell(defaultCell).prefix,
    store,
    isSafe,
    logger,
    redisBytes: async () => usedMemoryOf(await connection.info('memory')).limitBytes,
  });
  return { tenants, [Symbol.asyncDispose]: () => closeRedis(connection) };
}
