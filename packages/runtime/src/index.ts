export { watchEventLoop } from './event-loop.ts';
export type { EventLoopDelay, EventLoopWatch, EventLoopWatchOptions } from './event-loop.ts';
export { errorCode, FatalError, listenFailure } from './fatal-error.ts';
export type { ListenTarget } from './fatal-error.ts';
export { startHealthServer } from './health-server.ts';
export type { HealthServer, HealthServerOptions, Readiness } from './health-server.ts';
export { runProcess } from './lifecycle.ts';
export type { ProcessRole, RequestStop, StopReason } from './lifecycle.ts';
export { createLogger, loggedError } from './logger.ts';
export type { LoggedError, Logger, LoggerOptions, LogLevel } from './logger.ts';
export { maskSecrets } from './mask-secrets.ts';
export { createMetrics } from './metrics.ts';
export type { Metrics, MetricsOptions } from './metrics.ts';
export { nodeVersionComplaint, requireNode } from './node-version.ts';
export {
  closeRedis,
  commandClient,
  maskRedisUrl,
  queueClient,
  retryDelayMs,
  subscriberClient,
  waitForRedis,
  writerClient,
} from './redis-clients.ts';
export type { RedisClientOptions } from './redis-clients.ts';
export { RedisClock } from './redis-clock.ts';
export type { RedisClockOptions } from './redis-clock.ts';
export { inspectRedis, redisProblems } from './redis-readiness.ts';
export type { RedisFacts, RedisProblem } from './redis-readiness.ts';
export { throttledWarning } from './throttled-warning.ts';
export { pause } from './pause.ts';
export { printFatal } from './print-fatal.ts';
export { randomBytes } from './random-bytes.ts';
export { runMain } from './run-main.ts';
export { isRedisUnavailable, redisAnswers } from './redis-failure.ts';
export { requireRedis } from './require-redis.ts';
export { chooseStore } from './store/choose-store.ts';
export type { StoreChoice, StoreKind, StoreSurroundings } from './store/choose-store.ts';
export { startStore } from './store/start-store.ts';
export type { RunningStore, StartStoreOptions, StoreExit } from './store/start-store.ts';
