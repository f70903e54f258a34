import { createOpenAI } from '@ai-sdk/openai';
import { testAiSdk } from './ai-sdk-suite.ts';

testAiSdk({
  name: 'AI SDK with @ai-sdk/openai',
  modelAt: (baseURL, apiKey, send = fetch) => createOpenAI({ baseURL, apiKey, fetch: send }),
  withStore: (store) => ({ openai: { store } }),
  errorsOfBrokenStream: 1,
  showsRawReasoning: false,
});
