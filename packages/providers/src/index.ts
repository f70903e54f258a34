export {
  ProviderError,
  type Disposition,
  type FinishReason,
  type Provider,
  type ProviderCall,
  type ProviderChunk,
  type ProviderErrorOptions,
  type ProviderLog,
  type ReadPace,
  type UpstreamFault,
} from './provider.ts';
export {
  atAddress,
  createProvider,
  faultOfProvider,
  type ProviderSettings,
  type ProviderTimeouts,
} from './registry.ts';
export type { AiSdkSettings } from './ai-sdk/ai-sdk.ts';
export { missingOnThisMachine } from './llama-cpp/missing-on-this-machine.ts';
export type { LlamaCppSettings } from './llama-cpp/settings.ts';
export type { OpenAiChatSettings } from './openai/chat.ts';
export type { OpenAiResponsesSettings } from './openai/responses.ts';
export type { SimulatorSettings } from './simulator/simulator.ts';
export { callableTools } from './allowed-calls.ts';
export {
  listModels,
  type ListedModel,
  type ListModels,
  type ListRequest,
  listModelsOf,
  type ModelList,
} from './upstream/list-models.ts';
