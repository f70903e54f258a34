export { type ChatTransportOptions, createChatTransport } from './chat-transport.ts';
export { type ChatStorage, memoryStorage, pageStorage } from './chat-storage.ts';
export { inputOf } from './input-of.ts';
export { UiChunks } from './ui-chunks.ts';
