export {
  errorBodySchema,
  errorEnvelopeSchema,
  failureBody,
  failureBodySchema,
  type ErrorBody,
  type FailureBody,
} from './error-body.ts';
export {
  errorCatalogue,
  errorRow,
  failureCodes,
  isErrorCode,
  isFailureCode,
  type ErrorCode,
  type ErrorType,
  type FailureCode,
} from './errors.ts';
export { ServiceError, type ServiceErrorOptions } from './service-error.ts';
export {
  type CountedPrompt,
  estimateInputTokens,
  estimateItemTokens,
  estimateTokens,
  tokensOfBytes,
} from './estimate-tokens.ts';
export {
  inputItemId,
  itemIdPrefixes,
  newCallId,
  newCompactionId,
  newItemId,
  newRequestId,
  newResponseId,
  randomSuffix,
  responseIdOfItem,
  responseIdPrefix,
  isResponseId,
  responseIdSchema,
  type RandomBytes,
} from './ids.ts';
export {
  inputItemSchema,
  maxInputItems,
  normalizeInput,
  type FunctionCallOutputItem,
  type InputItem,
  type InputMessage,
  type InputPart,
} from './items.ts';
export { longestToolName } from './tool-names.ts';
export { type CacheBreakpoint, cacheTtls, type CacheTtl, mostCacheBreakpoints } from './cache-breakpoints.ts';
export { firstProblem } from './first-problem.ts';
export {
  createResponseSchema,
  jsonObjectSchema,
  toolModeSchema,
  type CustomTool,
  type FunctionTool,
  type Tool,
  type TextFormat,
  type ToolChoice,
} from './create-response.ts';
export {
  type CachingRequest,
  openToolOutputs,
  parseCreateResponse,
  presentMembers,
  type SamplingRequest,
  toolCallNotFound,
  type CreateResponse,
  type ToolItem,
  type ParseOptions,
} from './parse-create-response.ts';
export {
  type HostedTool,
  type HostedToolsOfModels,
  upstreamToolTypes,
} from './hosted-tools.ts';
export {
  compactResponseSchema,
  countInputTokensSchema,
  parseCompactResponse,
  parseCountInputTokens,
} from './context-requests.ts';
export {
  allowsParallelCalls,
  type ContextItem,
  type Generation,
  includesEncryptedReasoning,
  type OpaqueReasoning,
} from './generation.ts';
export {
  countedUsage,
  logprobSchema,
  outputItemSchema,
  outputText,
  usageSchema,
  type Annotation,
  type ContentPart,
  isToolCall,
  type CustomToolCallItem,
  type FunctionCallItem,
  type Logprob,
  type MessageItem,
  type OutputItem,
  type ReasoningItem,
  type SummaryPart,
  type Usage,
} from './output.ts';
export { type KeyTier, keyTiers, requestedTier, serviceTiers, type ServiceTier } from './service-tier.ts';
export {
  responseBodySchema,
  responseEndSchema,
  responseSchema,
  statuses,
  type Effort,
  type IncompleteReason,
  type Response,
  type ResponseBody,
  type ResponseEnd,
  type Status,
} from './response.ts';
export { echoFormat, effectiveEffort, responseFor, withEnd, type AcceptedFacts } from './build-response.ts';
export {
  eventTypeOf,
  cancelled,
  completed,
  failed,
  incomplete,
  isKeptAfterEnd,
  modeOf,
  isRepeatable,
  isTerminal,
  nothingProduced,
  statusesBefore,
  transitions,
} from './lifecycle.ts';
export type { EmbeddingRequest } from './embedding.ts';
export { parseClientFrame, type ClientFrame } from './client-frame.ts';
export { isPrivateHost } from './private-host.ts';
export {
  eventSchema,
  specificationNames,
  isLifecycleType,
  isTerminalType,
  lifecycleTypes,
  parseEvent,
  type ContentEvent,
  type EventType,
  type LifecycleEvent,
  type LifecycleType,
  type ResponseEvent,
  type UnnumberedEvent,
} from './events.ts';
export { applyEvent, emptyFold, foldEvents, type OutputFold } from './fold.ts';
export {
  closeAll,
  closeItem,
  closeOpenPart,
  closeSilently,
  emptyOutput,
  track,
  trackAll,
  type OpenOutput,
} from './close-items.ts';
export { countDerivedEvents, deriveEvents } from './derive-events.ts';
export { listedItem, listedItemSchema, outputAsInput, type ListedItem } from './stored-items.ts';
export {
  createResponseHeadersSchema,
  listInputItemsQuerySchema,
  listResponsesQuerySchema,
  modelParamsSchema,
  parsePart,
  responseParamsSchema,
  retrieveResponseQuerySchema,
  readEventsQuerySchema,
} from './request-parts.ts';
export {
  compactionSchema,
  deletedResponseSchema,
  eventBatchSchema,
  eventPageSchema,
  inputItemListSchema,
  inputTokensSchema,
  livenessSchema,
  modelListSchema,
  modelSchema,
  readinessSchema,
  responseListSchema,
} from './answers.ts';
export {
  createWebhookEndpointSchema,
  deletedWebhookEndpointSchema,
  listWebhookEndpointsQuerySchema,
  rotateWebhookSecretSchema,
  testWebhookEndpointSchema,
  updateWebhookEndpointSchema,
  type WebhookEndpoint,
  webhookEndpointListSchema,
  webhookEndpointSchema,
  webhookEndpointWithSecretSchema,
  type WebhookEvent,
  type WebhookEventType,
  webhookEventTypeListSchema,
  webhookEventTypes,
  webhookTestResultSchema,
} from './webhooks.ts';
export { type Page, pageBehind, presentPage } from './pages.ts';
export {
  type Batch,
  type BatchEndpoint,
  batchEndpoints,
  type LineEndpoint,
  lineEndpoints,
  type BatchError,
  batchListSchema,
  batchSchema,
  type BatchStatus,
  batchStatuses,
  createBatchSchema,
  listBatchesQuerySchema,
} from './batches.ts';
export {
  deletedFileSchema,
  fileIdPrefix,
  fileListSchema,
  type FileObject,
  type FilePurpose,
  filePurposes,
  fileSchema,
  type ListFilesQuery,
  listFilesQuerySchema,
  uploadFieldsSchema,
  uploadPurposes,
} from './files.ts';
export {
  bucketWidths,
  type UsageGroup,
  type CostGroup,
  type CostPage,
  costPageSchema,
  type CostQueryParams,
  costQuerySchema,
  type CostResult,
  usageGroups,
  type UsagePage,
  usagePageSchema,
  type UsageQueryParams,
  usageQuerySchema,
  type UsageResult,
  usageResultSchema,
} from './usage.ts';
export { canonicalJson } from './canonical-json.ts';
export { errorEvent } from './error-event.ts';
export { dialectOf, type SchemaDialect } from './strict-schema/schema-keywords.ts';
export { plainSchema } from './strict-schema/plain-schema.ts';
export { strictSchemaLimits, strictSchemaProblem } from './strict-schema/strict-schema-problem.ts';
export { isObject } from './is-object.ts';
export { money } from './money.ts';
