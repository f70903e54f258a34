export { errorCode, FatalError, listenFailure } from './fatal-error.ts';
export { bornAt, isAlive, isRunning, type ProcessIdentity } from './process-identity.ts';
export type { ListenTarget } from './fatal-error.ts';
export { garbageCollector } from './garbage-collector.ts';
export { keepHeapRoom } from './heap-room.ts';
export { startHealthServer } from './health-server.ts';
export type { HealthServer, HealthServerOptions, Readiness } from './health-server.ts';
export { runProcess } from './lifecycle.ts';
export type { ProcessRole, RequestStop, StopReason } from './lifecycle.ts';
export { type LoggedError, loggedError } from './logged-error.ts';
export { createLogger } from './logger.ts';
export type { Logger, LoggerOptions, LogLevel } from './logger.ts';
export { countFacts, readGauges } from './metric-table.ts';
export type { CountedMetric, ReadMetric } from './metric-table.ts';
export { createMetrics } from './metrics.ts';
export type { Metrics, MetricsOptions } from './metrics.ts';
export { countEnds } from './response-metrics.ts';
export type { EndsOptions } from './response-metrics.ts';
export { sampledCounter } from './sampled-counter.ts';
export type { SampledCounterOptions } from './sampled-counter.ts';
export { returnStartMemory } from './start-memory.ts';
export { measureStore } from './store-metrics.ts';
export type { CellMemory, StoreToMeasure } from './store-metrics.ts';
export { serviceVersion } from './service-version.ts';
export { requireNode } from './node-version.ts';
export {
  bulkReadClient,
  closeRedis,
  commandClient,
  largeValueClient,
  maskRedisUrl,
  queueClient,
  subscriberClient,
  waitForRedis,
  writerClient,
} from './redis-clients.ts';
export type { RedisClientOptions } from './redis-clients.ts';
export { parseRedisAddress, type RedisAddress, type RedisTopology } from './redis-address.ts';
export { nextCellName, parseRedisCells, type RedisCell } from './redis-cells.ts';
export { retryDelayMs } from './redis-primary.ts';
export { FailedLogins } from './failed-logins.ts';
export type { AddressedRequest, FailedLoginsOptions, Throttled } from './failed-logins.ts';
export { refuseOperator } from './operator-access.ts';
export type { OperatorRefusal } from './operator-access.ts';
export { RedisClock } from './redis-clock.ts';
export type { RedisClockOptions } from './redis-clock.ts';
export { inspectRedis, redisProblems } from './redis-readiness.ts';
export type { RedisFacts, RedisProblem } from './redis-readiness.ts';
export { memoize } from './memoize.ts';
export { Telemetry } from './telemetry.ts';
export type { TelemetryEvent, TelemetryEvents, TelemetryFact } from './telemetry.ts';
export {
  childOf,
  newTraceId,
  parseTraceparent,
  printTraceparent,
  traceOfAttempt,
} from './trace-context.ts';
export type { AttemptTrace, RequestTrace, TraceContext } from './trace-context.ts';
export { tellParent } from './tell-parent.ts';
export { LineThrottle, throttledWarning } from './throttled-warning.ts';
export { pause } from './pause.ts';
export { randomBytes } from './random-bytes.ts';
export { runMain } from './run-main.ts';
export { forkModule, startThread } from './start-module.ts';
export { repeatUnanswered, type RepeatOptions } from './repeat-unanswered.ts';
export { isNeverSent, isOutOfMemory, isRedisUnavailable, isReplyMissing } from './redis-failure.ts';
export { RedisMemory, type RedisMemoryOptions, type UsedMemory, usedMemoryOf } from './redis-memory.ts';
export { RedisWatch } from './redis-watch.ts';
export type { RedisWatchOptions } from './redis-watch.ts';
export { awaitRedis, requireRedis, untilRedisTakes } from './require-redis.ts';
export type { RedisToFind } from './require-redis.ts';
export {
  TenantEntries,
  type TenantEntriesOptions,
  type TenantEntry,
} from './tenant-entries/tenant-entries.ts';
export { EntriesWatch, type EntriesWatchOptions } from './stored-entries/entries-watch.ts';
export {
  type EntriesChange,
  type EntriesConnection,
  type EntriesSnapshot,
  StoredEntries,
  versionField,
} from './stored-entries/stored-entries.ts';
