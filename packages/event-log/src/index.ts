export { append, type Append, type AppendResult, type Retention } from './append.ts';
export { attach, erase } from './attach.ts';
export { claim, release, type Claim, type ClaimEnd, type ClaimOptions } from './claim.ts';
export { maxChain, readContext, readTurn, type Context, type Turn } from './context.ts';
export { EventWriter, type EventWriterOptions } from './event-writer.ts';
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
export { loadScript, textReply, type Script } from './script.ts';
export type { Batch, Subscription } from './subscription.ts';
export { survey, type Finding } from './survey.ts';
