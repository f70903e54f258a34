import { createOpenAI } from '@ai-sdk/openai';
import { testAiSdk } from './ai-sdk-suite.ts';

testAiSdk({
  name: 'AI SDK with @ai-sdk/openai',
  modelAt: (baseURL, apiKey) => createOpenAI({ baseURL, apiKey }),
  withStore: (store) => ({ openai: { store } }),
  errorsOfBrokenStream: 1,
  showsRawReasoning: false,
});
