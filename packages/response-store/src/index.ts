export { ResponseStore, type ResponseStoreOptions } from './response-store.ts';
export { type Durability, DurabilityBarrier } from './delivery/durability.ts';
export { CallerStore, type CallerStoreOptions } from './caller-store.ts';
export {
  type AttemptStores,
  attemptStores,
  type CallerStores,
  callerStores,
  type ResponseStores,
  responseStores,
} from './cells/stores-of-cells.ts';
export { startedWithin, untilCellsStart } from './cells/start-cells.ts';
export type { CellCountNotes, CellsInUse, NotedCellCount } from './cells/tenant-cells.ts';
export { AttemptStore, type AttemptStoreOptions, type WriterOptions } from './attempt-store.ts';
export {
  prepareRequest,
  replaceIn,
  type Replacement,
  type ItemReference,
  type PreparationOptions,
  toolLinkOf,
  type InputLink,
  type PreparedRequest,
} from './prepared-request.ts';
export type { EventWriter, RunFacts } from './event-writer.ts';
export { largeFrom } from './large-values.ts';
export { ProcessLease, type Lease, type ProcessLeaseOptions } from './record/process-lease.ts';
export type { EndWait, GiveUpReason, WaitOutcome } from './delivery/end-wait.ts';
export { lastNumberOf } from './delivery/log-readers.ts';
export type { EndReading, HoldMemory, KnownEnd, OpenEnd } from './reading/open-ends.ts';
export type { FoundEnd } from './reading/read-record.ts';
export { LongTexts } from './record/long-texts.ts';
export type { Batch, Subscription } from './delivery/subscription.ts';
export type { ResponseContext } from './reading/read-context.ts';
export type { ContextInputs } from './reading/context-inputs.ts';
export type { EarlierTokens } from './reading/earlier-tokens.ts';
export type { ItemLimits, ItemPart, LocatedItems } from './reading/item-parts.ts';
export {
  type InputPage,
  type PartJson,
  type PickedItem,
  type PickedPage,
  pickItems,
  pickPage,
  pickUserMessages,
} from './reading/pick-items.ts';
export type { StoredPage } from './reading/list-stored.ts';
export type { LimitedTenant } from './reading/tenant-use.ts';
export type { ResponseSummary } from './reading/read-summary.ts';
export { typeOf, type LoggedEvent } from './reading/read-events.ts';
export { OutboxFollower, type OutboxFollowerOptions } from './outbox/outbox-follower.ts';
export {
  type BatchEventType,
  type EndFact,
  type Happening,
  type OutboxEntry,
  OutboxReader,
  type OutboxReaderOptions,
  tellOfBatch,
} from './outbox/outbox.ts';
export { recordVersion } from './record/fields.ts';
export { type Cell, cellOf, defaultCell } from './record/cells.ts';
export type { LargeValueConnection, RedisCommands, RedisSubscriber } from './record/connection.ts';
export { type EndFacts, parseEnd, type EndOfResponse } from './record/end-json.ts';
export type { FileReference } from './file-references.ts';
export type { MediaUrls } from './media-urls.ts';
export { type CellKeys, type RedisKeys, redisKeys } from './record/keys.ts';
export { bytesOf, dropLongMembers } from './record/large-value.ts';
export {
  acceptedResponse,
  responseOf,
  type ClaimedRecord,
  type LimitedBefore,
  type ResponseRecord,
  type StoredRequest,
  UnknownVersion,
} from './record/record.ts';
export type { LetIn, OutboxWriting, QueuedEnd } from './record/store-access.ts';
export type { RetentionSettings } from './record/retention.ts';
export type { JobOrder } from './rescue/renumber.ts';
export type { Finding } from './rescue/survey.ts';
export type { Abandonment } from './transitions/abandon.ts';
export type { Accepting, ContextLimits } from './transitions/accept.ts';
export type { AcceptResult, ReferenceProblem, TenantUse } from './transitions/accept-result.ts';
export type { CancelReason } from './transitions/cancel.ts';
export type { LeaseState } from './transitions/check-leases.ts';
export { type Claim, type ClaimEnd, lossesToBeAlone, type PostponedClaim } from './transitions/claim.ts';
export { numberedEvent } from './transitions/numbered-event.ts';
export type { EndRequest } from './transitions/end-requests.ts';
export type { FinishResult, QueuedEnding } from './transitions/finish.ts';
export type { HeldAttempt, ReleaseOptions } from './transitions/release.ts';
export { type CellFollower, type Cells, LiveCells } from './cells/live-cells.ts';
export { PartsOfCells } from './cells/parts-of-cells.ts';
