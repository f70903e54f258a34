export {
  errorTypes,
  failureBody,
  failureMessages,
  isErrorCode,
  ServiceError,
  type ErrorBody,
  type ErrorCode,
  type ErrorType,
  type FailureCode,
  type ServiceErrorOptions,
} from './errors.ts';
export {
  inputItemId,
  itemIdPrefixes,
  newCallId,
  newItemId,
  newRequestId,
  newResponseId,
  randomSuffix,
  responseIdOfItem,
  responseIdPrefix,
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
export {
  createResponseSchema,
  type FunctionTool,
  type TextFormat,
  type ToolChoice,
} from './create-response.ts';
export { firstProblem } from './first-problem.ts';
export {
  openToolOutputs,
  parseCreateResponse,
  toolCallNotFound,
  type CreateResponse,
} from './parse-create-response.ts';
export type { Generation } from './generation.ts';
export {
  outputItemSchema,
  outputText,
  usageSchema,
  type Annotation,
  type ContentPart,
  type FunctionCallItem,
  type Logprob,
  type MessageItem,
  type OutputItem,
  type ReasoningItem,
  type SummaryPart,
  type Usage,
} from './output.ts';
export {
  echoFormat,
  effectiveEffort,
  requestedTier,
  responseFor,
  statuses,
  withEnd,
  type Acceptance,
  type Effort,
  type IncompleteReason,
  type Response,
  type ResponseEnd,
  type ServiceTier,
  type Status,
} from './response.ts';
export {
  eventTypeOf,
  cancelled,
  completed,
  failed,
  incomplete,
  isTerminal,
  nothingProduced,
  statusesBefore,
  transitions,
} from './lifecycle.ts';
export {
  isEventType,
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
export { closeAll, closeItem, emptyOutput, follow, followAll, type OpenOutput } from './close-items.ts';
export { deriveEvents } from './derive-events.ts';
export { listedItem, outputAsInput, type ListedItem } from './stored-items.ts';
export { canonicalJson } from './canonical-json.ts';
export { errorEvent } from './error-event.ts';
