import type { Socket } from 'node:net';
import { Redis, type RedisOptions } from 'ioredis';
import { loggedError } from './logged-error.ts';
import type { Logger } from './logger.ts';
import { watchHeartbeat } from './redis-heartbeat.ts';
import { parseRedisAddress } from './redis-address.ts';
import { primaryConnector, retryDelayMs } from './redis-primary.ts';
import { listenAtShard } from './redis-shard.ts';
import { locatorOf } from './redis-topology.ts';
import { failFastWhileSilent } from './redis-silence.ts';
import { throttledWarning } from './throttled-warning.ts';

export interface RedisClientOptions {
  /** Undefined for a connection of which somebody else says when the store is away. */
  logger: Logger | undefined;
  /** The name in `CLIENT LIST`; by default that of the role. */
  connectionName?: string;
}

/**
 * For short commands of a request in progress: accept, get, cancel, limits, and adding to a queue.
 *
 * Commands fail instead of waiting: within a second when Redis hangs, at once when it is known to hang
 * (`failFastWhileSilent`) or is not connected (also before the first connection, see `waitForRedis`). A command that timed out may still run later, so every write sent here is
 * idempotent or guarded by a deadline. A command whose connection is lost is rejected and never sent again.
 */
export function commandClient(url: string, options: RedisClientOptions): Redis {
  const redis = connect(url, 'sluice-commands', options, {
    ...FAILING_FAST,
    commandTimeout: 1000,
    reconnectOnError: isElsewhere,
  });
  failFastWhileSilent(redis);
  return redis;
}

/**
 * For a worker's appends. Like `commandClient`, but with a time-out of five seconds: a worker prefers a late success to
 * a retry. After a failed or timed out command it repeats the append with the same sequence numbers.
 */
export function writerClient(url: string, options: RedisClientOptions): Redis {
  return connect(url, 'sluice-writer', options, {
    ...FAILING_FAST,
    commandTimeout: 5000,
    reconnectOnError: isElsewhere,
  });
}

/**
 * For lookups of an api on behalf of its readers. Like `commandClient`, but with a time-out of fifteen seconds, because answers
 * can have many megabytes and come over a slow network.
 */
export function bulkReadClient(url: string, options: RedisClientOptions): Redis {
  return connect(url, 'sluice-bulk-reads', options, {
    ...FAILING_FAST,
    commandTimeout: 15_000,
    reconnectOnError: isElsewhere,
  });
}

/**
 * For values that may be large, in an api and in a worker. Nothing else goes over it, so no short command waits behind one.
 * There is no command time-out: how long a value may take depends on its size, and its sender cuts the connection after that
 * time.
 */
export function largeValueClient(url: string, options: RedisClientOptions): Redis {
  return connect(url, 'sluice-large-values', options, { ...FAILING_FAST, reconnectOnError: isElsewhere });
}

/**
 * For BullMQ's `Worker`, which duplicates it for its blocking reads. Commands wait until Redis is back and are sent
 * again after a lost connection. There is no command time-out, because blocking reads would inherit it.
 *
 * A fetch whose reply was lost is therefore sent twice and may take two jobs. Nobody renews the lock of the first one,
 * so it is delivered again when that lapses.
 */
export function queueClient(url: string, options: RedisClientOptions): Redis {
  return connect(url, 'sluice-queue', options, {
    maxRetriesPerRequest: null,
    // A replica has done nothing, so the primary gets the same command. BullMQ would take the error for that of the job.
    reconnectOnError: (error) => (isElsewhere(error) ? RECONNECT_AND_RESEND : false),
  });
}

/**
 * For the subscriptions of a process. It subscribes again after each reconnect. Messages published in between are lost,
 * and `ready` fires before the new subscription is active, so subscribers catch up from the log by their cursor.
 *
 * In a cluster `subscribe` listens at the shard of the channels (`SSUBSCRIBE`), where scripts publish.
 */
export function subscriberClient(url: string, options: RedisClientOptions): Redis {
  const isCluster = parseRedisAddress(url).topology.kind === 'cluster';
  const redis = connect(url, 'sluice-subscriber', options, {
    maxRetriesPerRequest: null,
    autoResubscribe: !isCluster,
    reconnectOnError: isElsewhere,
  });
  const subscribe: (...channels: string[]) => Promise<unknown> = isCluster
    ? listenAtShard(redis)
    : redis.subscribe.bind(redis);
  // The client subscribes again by itself. If that fails because the client is closed, nobody handles the rejection, which would
  // end the process.
  const heard = (...channels: string[]) => {
    const subscribed = subscribe(...channels);
    subscribed.catch(() => undefined);
    return subscribed;
  };
  // `subscribe` has several overloads. The arguments are passed on unchanged, so the cast holds.
  redis.subscribe = heard as typeof redis.subscribe;
  return redis;
}

/** The URLs without user name, password and query, for messages and logs. */
export function maskRedisUrl(urls: string): string {
  return urls.trim().split(/\s+/).map(maskOne).join(' ');
}

function maskOne(url: string): string {
  if (!URL.canParse(url)) return '(not a URL)';
  const parsed = new URL(url);
  const credentials = parsed.username !== '' || parsed.password !== '' ? '***@' : '';
  return `${parsed.protocol}//${credentials}${parsed.host}${parsed.pathname === '/' ? '' : parsed.pathname}`;
}

/**
 * Resolves when the client can take commands. Rejects with the signal's reason, or when the client is closed. A process
 * that must serve without Redis does not await it before it listens.
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
 * Closes a client in any state. Commands in flight have `withinMs` to finish (1 s by default), then the connection is
 * cut. Never rejects and never hangs; a second call resolves like the first.
 */
export async function closeRedis(client: Redis, withinMs = 1000): Promise<void> {
  if (client.status === 'end') return;
  if (client.status === 'ready') await quitWithin(client, withinMs);
  const ended = untilEnd(client, withinMs);
  // Between two attempts there is no socket whose end could end the client. It would stay `reconnecting` for ever, with
  // its queued commands. A new attempt that is cut at once ends it properly.
  if (client.status === 'reconnecting') client.connect().catch(() => undefined);
  client.disconnect();
  await ended;
}

const RECONNECT_AND_RESEND = 2;

const FAILING_FAST = {
  enableOfflineQueue: false,
  // This also keeps a command from being sent twice. The option meant for that, `autoResendUnfulfilledCommands: false`,
  // leaves the command pending for ever in ioredis 6.0.0 (https://github.com/redis/ioredis/issues/2193).
  maxRetriesPerRequest: 0,
} satisfies RoleOptions;

/**
 * After a failover the old primary answers READONLY on a connection that looks healthy, and in a cluster MOVED, as does a node whose slot has
 * gone to another.
 */
function isElsewhere({ message }: Error): boolean {
  return message.includes('READONLY') || message.startsWith('MOVED ');
}

/** The options in which the roles differ. */
type RoleOptions = Pick<
  RedisOptions,
  'autoResubscribe' | 'commandTimeout' | 'enableOfflineQueue' | 'maxRetriesPerRequest' | 'reconnectOnError'
>;

function connect(url: string, role: string, client: RedisClientOptions, options: RoleOptions): Redis {
  const redis: Redis = new Redis(parseRedisAddress(url).url, {
    Connector: primaryConnector({
      onReplica: () => redis.emit('error', new Error('READONLY Redis is a replica at the moment')),
      locate: locatorOf(url),
    }),
    connectTimeout: 2000,
    // Redis answers this often while it loads its data, so a heartbeat is heard then, too.
    maxLoadingRetryTime: 1000,
    keepAlive: 10_000,
    retryStrategy: (attempt) => retryDelayMs(attempt),
    connectionName: client.connectionName ?? role,
    // RESP3 has no benefit here, and some proxies and access lists refuse its HELLO.
    protocol: 2,
    ...options,
  });
  if (parseRedisAddress(url).topology.kind === 'cluster')
    Object.assign(redis, { publishCommand: 'SPUBLISH' });
  const { warn } = logConnection(redis, client.logger?.child({ redisRole: role }));
  gatherWrites(redis);
  watchHeartbeat(redis, warn);
  const duplicate = redis.duplicate.bind(redis);
  redis.duplicate = (override) => {
    const duplicated = duplicate(override);
    watchHeartbeat(duplicated, warn);
    return duplicated;
  };
  return redis;
}

/**
 * Sends everything written in one turn of the event loop with one system call. Otherwise each command is a write of its
 * own, and system calls took a fifth of the CPU time of an api and of a worker under load; see
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
    // `write` has several overloads. The arguments are passed on unchanged, so the cast holds.
    socket.write = gather as typeof write;
  });
}

/**
 * An outage causes an error for each attempt to connect. A few of them are logged, and the recovery. Before the first
 * connection the start of a process logs what it waits for.
 */
function logConnection(redis: Redis, logger: Logger | undefined): { warn: (error: unknown) => void } {
  const throttled = logger && throttledWarning(logger, 'redis connection failed');
  let wasReady = false;
  const warnOnceReady = (error: unknown) => {
    if (wasReady) throttled?.warn(error);
    else logger?.debug({ err: loggedError(error) }, 'redis not connected yet');
  };
  redis.on('error', warnOnceReady);
  redis.on('ready', () => {
    wasReady = true;
    throttled?.restored('redis connection restored');
  });
  return { warn: warnOnceReady };
}

async function quitWithin(client: Redis, withinMs: number): Promise<void> {
  const { promise: deadline, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, withinMs);
  // QUIT may fail, for example on a dying connection. The caller cuts the connection anyway.
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
