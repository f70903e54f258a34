export { append, type Append, type AppendResult } from './append.ts';
export { attach } from './attach.ts';
export { claim, release, type Claim, type ClaimEnd, type ClaimOptions } from './claim.ts';
export { maxChain, readContext, readTurn, type Context, type Turn } from './context.ts';
export { endQueued } from './end-queued.ts';
export { erase } from './erase.ts';
export { EventWriter, type EndResult, type EventWriterOptions } from './event-writer.ts';
export { abandon, cancel, checkLeases, leave, type LeaseState, type LeaveResult } from './leave.ts';
export { markEnqueued } from './mark-enqueued.ts';
export type { PendingEnd } from './pending-end.ts';
export { hasLog, readDerivedEvents, readEvents, readRecord, typeOf, type LoggedEvent } from './read.ts';
export {
  acceptedResponse,
  recordVersion,
  responseOf,
  type ClaimedRecord,
  type ResponseRecord,
  type StoredRequest,
} from './record.ts';
export { redisKeys, type RedisKeys } from './redis-keys.ts';
export { Relay, type RelayOptions } from './relay.ts';
export { retentionOf, type Retention, type RetentionSettings } from './retention.ts';
export { loadScript, textReply, type Script } from './script.ts';
export type { Batch, Subscription } from './subscription.ts';
export { survey, type Finding } from './survey.ts';
