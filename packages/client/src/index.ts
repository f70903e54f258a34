export {
  createClient,
  type CallOptions,
  type Client,
  type ClientOptions,
  type CreateOptions,
} from './client.ts';
export type { RetryPolicy } from './attempts.ts';
export { ApiError, ConnectionError, SluiceError, StreamError } from './errors.ts';
export { isLastEvent, type ItemEvent, type LifecycleEvent, type ResponseEvent } from './events.ts';
export {
  isTerminal,
  type CreateRequest,
  type DeletedResponse,
  type Failure,
  type FunctionTool,
  type InputItem,
  type OutputItem,
  type RequestSettings,
  type ResponseObject,
  type Status,
  type Usage,
} from './response.ts';
