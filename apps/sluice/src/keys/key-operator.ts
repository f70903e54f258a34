import { randomUUID } from 'node:crypto';
import {
  type Settings,
  type StoredKey,
  StoredKeyReader,
  storedKeyText,
  type UnreadableKey,
} from '@sluice/config';
import { defaultCell, ResponseStore } from '@sluice/response-store';
import {
  closeRedis,
  createLogger,
  FatalError,
  isRedisUnavailable,
  isReplyMissing,
  pause,
  requireRedis,
  writerClient,
} from '@sluice/runtime';
import { type KeyChange, KeyStore } from '@sluice/stored-keys';

/** The stored keys as they were read. */
export interface StoredKeys {
  keys: StoredKey[];
  unreadable: UnreadableKey[];
  /** The time of Redis, in milliseconds since 1970. */
  now: number;
}

/** The keys of a service as an operator reaches them: over Redis itself, whether an api runs or not. */
export interface KeyOperator {
  settings: Settings;
  read: () => Promise<StoredKeys>;
  /** What tenants use now; see the store. */
  tenantUse: ResponseStore['tenantUse'];
  /**
   * Changes keys in one step. `decide` gets them as they are and returns what to store, or nothing when there is nothing
   * to do. It is asked again when another operator was faster, so it must recognise its own change.
   *
   * @returns whether the change is as safe as `durability` of the settings asks for.
   * @throws {FatalError} when Redis refuses the change, or does not say whether it was made.
   */
  change: (decide: (stored: StoredKeys) => readonly StoredKey[]) => Promise<boolean>;
  [Symbol.asyncDispose]: () => Promise<void>;
}

/** How often a change is sent until Redis says what has become of it, and the pause between. */
const mostSends = 10;
const sendAgainMs = 300;

/** How long a change may take to the disk when nothing else is asked for: a log is usually written each second. */
const onDiskWithinMs = 1500;

/** How often a change is made anew because others were faster. */
const mostRounds = 50;

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
  const reader = new StoredKeyReader();
  const read = async () => {
    const snapshot = await store.read();
    return { ...reader.read(snapshot.entries), now: await store.now(), version: snapshot.version };
  };
  const isSafe = async () => {
    if (durability === 'local') {
      // A revocation should survive a crash of Redis. One without a log, or of before 7.2, cannot promise that.
      await connection.call('WAITAOF', 1, 0, onDiskWithinMs).catch(() => undefined);
      return true;
    }
    const { durabilityMs } = timeouts;
    const reply: unknown = await (durability === 'replica'
      ? connection.call('WAIT', 1, durabilityMs)
      : connection.call('WAITAOF', 1, 0, durabilityMs));
    return Number([reply].flat()[0]) >= 1;
  };
  return {
    settings,
    read: () => orExplain(read()),
    tenantUse: (tenants) => orExplain(responses.tenantUse(tenants)),
    async change(decide) {
      for (let round = 0; round < mostRounds; round += 1) {
        const stored = await orExplain(read());
        const entries = new Map(decide(stored).map((key) => [key.id, storedKeyText(key)]));
        if (entries.size === 0) return true;
        const isMade = await orExplain(
          send(store, { from: { version: stored.version }, entries, version: randomUUID() }),
        );
        // It is made, whatever Redis says now.
        if (isMade) return isSafe().catch(() => false);
      }
      throw new FatalError('Others change keys all the time, so nothing was changed: try again.');
    },
    [Symbol.asyncDispose]: () => closeRedis(connection),
  };
}

/** Sends one change until there is a reply. It is known by its version, so it counts once. */
async function send(store: KeyStore, change: KeyChange): Promise<boolean> {
  for (let sends = 1; ; sends += 1) {
    try {
      return await store.change(change);
    } catch (error) {
      if (!isReplyMissing(error)) throw error;
      if (sends === mostSends) {
        throw new FatalError(
          "Redis does not answer, so nobody knows whether the change was made: 'sluice keys list' shows it later.",
          { cause: error },
        );
      }
    }
    await pause(sendAgainMs, new AbortController().signal);
  }
}

async function orExplain<T>(step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    if (error instanceof FatalError || !(error instanceof Error)) throw error;
    if (!isRedisUnavailable(error) && !error.message.startsWith('WRONGTYPE')) throw error;
    throw new FatalError(`Redis did not do it: ${error.message}`, { cause: error });
  }
}
