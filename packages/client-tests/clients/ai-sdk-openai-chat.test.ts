import { createOpenAI } from '@ai-sdk/openai';
import { testAiSdk } from './ai-sdk-suite.ts';

testAiSdk({
  name: 'AI SDK with chat completions of @ai-sdk/openai',
  modelAt: (baseURL, apiKey, send = fetch) => {
    const provider = createOpenAI({ baseURL, apiKey, fetch: send });
    return (model) => provider.chat(model);
  },
  errorsOfBrokenStream: 1,
  showsReasoning: false,
  showsRawReasoning: false,
});
