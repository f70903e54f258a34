import type { Socket } from 'node:net';
import { Redis, type RedisOptions } from 'ioredis';
import { loggedError, type Logger } from './logger.ts';
import { throttledWarning } from './throttled-warning.ts';

export interface RedisClientOptions {
  logger: Logger;
  /** Shown by `CLIENT LIST`; the role's own name by default. */
  connectionName?: string;
}

/**
 * For short commands with somebody waiting: accept, get, cancel, limits, and adding to a queue.
 *
 * It fails rather than waits: within a second when Redis is frozen, at once when it is away (also before the first
 * connection, see `waitForRedis`). A command that timed out may still run when Redis thaws, so every write sent
 * here is idempotent or guarded by a deadline. A command that lost its connection is rejected, never sent again.
 */
export function commandClient(url: string, options: RedisClientOptions): Redis {
  return connect(url, 'sluice-commands', options, {
    ...FAILING_FAST,
    commandTimeout: 1000,
    reconnectOnError: isReadOnlyError,
  });
}

/**
 * For a worker's appends. Like `commandClient`, with five seconds to answer: a worker prefers a late success to a
 * retry, and repeats with the same sequence numbers when a command was rejected or timed out.
 */
export function writerClient(url: string, options: RedisClientOptions): Redis {
  return connect(url, 'sluice-writer', options, {
    ...FAILING_FAST,
    commandTimeout: 5000,
    reconnectOnError: isReadOnlyError,
  });
}

/**
 * For BullMQ's `Worker`, which duplicates it for its blocking reads. Commands wait for Redis as long as it takes and
 * are sent again after a lost connection; there is no command time-out, because blocking reads would inherit it.
 */
export function queueClient(url: string, options: RedisClientOptions): Redis {
  return connect(url, 'sluice-queue', options, { maxRetriesPerRequest: null });
}

/**
 * For the one subscription of a process. It subscribes again after each reconnect; messages published in between are
 * lost, and `ready` fires before the new subscription stands, so whoever listens reads the log again by a cursor.
 */
export function subscriberClient(url: string, options: RedisClientOptions): Redis {
  return connect(url, 'sluice-subscriber', options, { maxRetriesPerRequest: null, autoResubscribe: true });
}

/** Capped at a second plus jitter, so that a service is back within three seconds of Redis, and not all at once. */
export function retryDelayMs(attempt: number, random: () => number = Math.random): number {
  return Math.min(50 * 2 ** attempt, 1000) + Math.floor(random() * 200);
}

/** The URL as it may be shown: without user name, password and query. */
export function maskRedisUrl(url: string): string {
  if (!URL.canParse(url)) return '(not a URL)';
  const parsed = new URL(url);
  const credentials = parsed.username !== '' || parsed.password !== '' ? '***@' : '';
  return `${parsed.protocol}//${credentials}${parsed.host}${parsed.pathname === '/' ? '' : parsed.pathname}`;
}

/**
 * Resolves once the client can take commands, at once when it can already. Rejects with the signal's reason, or when
 * the client was closed. A process that must serve without Redis does not await it before listening.
 */
export function waitForRedis(client: Redis, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void) => {
      client.off('ready', onReady);
      client.off('end', onEnd);
      signal.removeEventListener('abort', onAbort);
      finish();
    };
    const onReady = () => settle(resolve);
    const onEnd = () => settle(() => reject(new Error('the Redis client was closed')));
    const onAbort = () => settle(() => reject(signal.reason));
    client.once('ready', onReady);
    client.once('end', onEnd);
    signal.addEventListener('abort', onAbort, { once: true });
    if (client.status === 'ready') onReady();
    else if (client.status === 'end') onEnd();
    else if (signal.aborted) onAbort();
  });
}

/**
 * Closes a client in any state: lets commands on the way finish, for `withinMs` at the longest (1 s by default), then
 * cuts the connection. Never rejects and never hangs; a second call resolves like the first.
 */
export async function closeRedis(client: Redis, withinMs = 1000): Promise<void> {
  if (client.status === 'end') return;
  if (client.status === 'ready') await quitWithin(client, withinMs);
  const ended = untilEnd(client, withinMs);
  // Between two attempts there is no socket whose end could end the client: it would stay `reconnecting` for ever, and
  // its queued commands with it. An attempt that is cut at once ends properly.
  if (client.status === 'reconnecting') client.connect().catch(() => undefined);
  client.disconnect();
  await ended;
}

const FAILING_FAST = {
  enableOfflineQueue: false,
  // Also what keeps a command from being sent twice. The option that promises it, `autoResendUnfulfilledCommands:
  // false`, leaves the command unsettled for ever in ioredis 6.0.0 (https://github.com/redis/ioredis/issues/2193).
  maxRetriesPerRequest: 0,
} satisfies RoleOptions;

/** After a failover the old primary answers READONLY on a connection that looks healthy. */
function isReadOnlyError(error: Error): boolean {
  return error.message.includes('READONLY');
}

/** What the roles differ in. */
type RoleOptions = Pick<
  RedisOptions,
  'autoResubscribe' | 'commandTimeout' | 'enableOfflineQueue' | 'maxRetriesPerRequest' | 'reconnectOnError'
>;

function connect(url: string, role: string, client: RedisClientOptions, options: RoleOptions): Redis {
  const redis = new Redis(url, {
    connectTimeout: 2000,
    keepAlive: 10_000,
    retryStrategy: (attempt) => retryDelayMs(attempt),
    connectionName: client.connectionName ?? role,
    // RESP3 would bring nothing here, and its HELLO is refused by some proxies and access lists.
    protocol: 2,
    ...options,
  });
  logConnection(redis, client.logger.child({ redisRole: role }));
  gatherWrites(redis);
  return redis;
}

/**
 * Sends what is written in one turn of the event loop with one system call. A command is a write of its own
 * otherwise, and system calls were a fifth of the time of an api and of a worker under load; see
 * docs/decisions/0005-gathered-writes.md.
 */
function gatherWrites(redis: Redis): void {
  redis.on('connect', () => {
    const socket: Socket = redis.stream;
    const write = socket.write.bind(socket);
    let isCorked = false;
    const uncork = () => {
      isCorked = false;
      socket.uncork();
    };
    const gather = (...chunk: Parameters<typeof write>) => {
      if (!isCorked) {
        isCorked = true;
        socket.cork();
        setImmediate(uncork);
      }
      return write(...chunk);
    };
    // `write` has overloads that differ in what may be left out; they are passed on as they come.
    socket.write = gather as typeof write;
  });
}

/** How long the start of a process may say by itself, in one line, that it has no connection. */
const FIRST_CONNECTION_MS = 10_000;

/** An outage makes an error per attempt: few of them are logged, and the recovery. */
function logConnection(redis: Redis, logger: Logger): void {
  const createdAt = performance.now();
  const { warn, restored } = throttledWarning(logger, 'redis connection failed');
  let wasReady = false;
  redis.on('error', (error: unknown) => {
    if (wasReady || performance.now() - createdAt >= FIRST_CONNECTION_MS) warn(error);
    else logger.debug({ err: loggedError(error) }, 'redis not connected yet');
  });
  redis.on('ready', () => {
    wasReady = true;
    restored('redis connection restored');
  });
}

async function quitWithin(client: Redis, withinMs: number): Promise<void> {
  const { promise: deadline, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, withinMs);
  // A subscriber refuses some commands and a dying connection all; either way it is cut below.
  const quit = client.quit().then(
    () => undefined,
    () => undefined,
  );
  await Promise.race([quit, deadline]);
  clearTimeout(timer);
}

function untilEnd(client: Redis, withinMs: number): Promise<void> {
  if (client.status === 'end') return Promise.resolve();
  return new Promise((resolve) => {
    const settle = () => {
      clearTimeout(timer);
      client.off('end', settle);
      resolve();
    };
    const timer = setTimeout(settle, withinMs);
    client.once('end', settle);
  });
}
