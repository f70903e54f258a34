import { createOpenAI } from '@ai-sdk/openai';
import { testAiSdk } from './ai-sdk-suite.ts';

testAiSdk({
  name: 'AI SDK with chat completions of @ai-sdk/openai',
  modelAt: (baseURL, apiKey, send = fetch) => createOpenAI({ baseURL, apiKey, fetch: send }).chat,
  errorsOfBrokenStream: 1,
  showsReasoning: false,
  showsRawReasoning: false,
});
