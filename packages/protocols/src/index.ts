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
