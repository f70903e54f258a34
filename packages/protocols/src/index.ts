export { ChatChunks } from './chat/chat-chunks.ts';
export {
  type ChatCompletion,
  chatFrameSchema,
  chatCompletionOf,
  chatCompletionSchema,
} from './chat/chat-completion.ts';
export { asChatError } from './chat/chat-params.ts';
export { type ChatDelivery, parseChatRequest } from './chat/chat-request.ts';
export { chatRequestSchema } from './chat/chat-schema.ts';
export {
  type EmbeddingDelivery,
  embeddingRequestSchema,
  parseEmbeddingRequest,
} from './embeddings/embedding-request.ts';
export { embeddingListJson, embeddingListSchema } from './embeddings/embedding-list.ts';
export {
  argumentsObject,
  messageFrameSchema,
  messageJson,
  messageSchema,
  messageTokensSchema,
  type ObjectOf,
} from './messages/message.ts';
export { MessageEvents } from './messages/message-events.ts';
export {
  messageModelListSchema,
  messageModelOf,
  messageModelSchema,
} from './messages/message-models.ts';
export {
  type MessagePage,
  messagePageOf,
  type MessagePageQuery,
  messagePageSchema,
} from './messages/message-page.ts';
export { messageErrorOf, messageErrorSchema } from './messages/message-params.ts';
export {
  type MessageDelivery,
  parseCountMessageTokens,
  parseMessageRequest,
} from './messages/message-request.ts';
export { countMessageTokensSchema, messageRequestSchema } from './messages/message-schema.ts';
export { ObjectScan } from './messages/object-scan.ts';
export {
  type CreateMessageBatch,
  createMessageBatchSchema,
  deletedMessageBatchSchema,
  linesOfMessages,
  type MessageBatch,
  messageBatchListSchema,
  messageBatchSchema,
} from './messages/message-batches.ts';
