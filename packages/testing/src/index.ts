export { acceptedResponse, completedResponse, said, usageOf } from './answers.ts';
export { askRedis } from './ask-redis.ts';
export { bundleCommand } from './bundled-command.ts';
export { cpuTimeMs, treeCpuTimeMs } from './cpu-time.ts';
export { checkEventGrammar } from './event-grammar.ts';
export { randomFrom } from './random-from.ts';
export { checkResponse } from './response-shape.ts';
export { readSse, sseFrames, type SseFrame, type SseRead, type SseSource } from './read-sse.ts';
export { startRedisProxy, type RedisProxy } from './redis-proxy.ts';
export { startFakeOtlpReceiver } from './fake-otlp-receiver.ts';
export type { FakeOtlpReceiver, ReceivedSpan } from './fake-otlp-receiver.ts';
export { startFakeUpstream } from './fake-upstream.ts';
export type { FakeUpstream, UpstreamHandler } from './fake-upstream.ts';
export { forAllTests, forEachTest } from './for-each-test.ts';
export { freePort, freePorts } from './free-ports.ts';
export { hasBucketServer, type LocalBucket, startLocalBucket } from './local-bucket.ts';
export { type LocalSentinel, startLocalSentinel } from './local-sentinel.ts';
export {
  formCluster,
  settingsOfNode,
  startLocalCluster,
  type LocalCluster,
  type NodeOfCluster,
} from './local-cluster.ts';
export { serverThatMovesSlots } from './server-that-moves-slots.ts';
export { costAgainstParsing } from './cost-against-parsing.ts';
export { hasPostgres, type LocalPostgres, startLocalPostgres } from './local-postgres.ts';
export { hasServer, isServerAtLeast, serverOnPath, startLocalRedis } from './local-redis.ts';
export type { LocalRedis, LocalRedisOptions } from './local-redis.ts';
export { dockerAnswers } from './docker-engine.ts';
export {
  copiedSources,
  type Patch,
  patched,
  type PatchedBuild,
  patchedBuild,
  workspace,
} from './patched-build.ts';
export { terminalProgress, type Progress } from './progress.ts';
export { testRedis } from './redis.ts';
export type { TestRedis } from './redis.ts';
export { scriptedProvider } from './scripted-provider.ts';
export type { ScriptedCall, ScriptedEnding, ScriptedProvider } from './scripted-provider.ts';
export { spyInImports } from './spy-in-imports.ts';
export type {
  UpstreamEnding,
  UpstreamExchange,
  UpstreamRequest,
  UpstreamStream,
} from './upstream-exchange.ts';
export { temporaryFolder } from './temporary-folder.ts';
export { eventually, latch, WAIT_TIMEOUT_MS, within } from './wait-until.ts';
export type { Latch, WaitOptions } from './wait-until.ts';
