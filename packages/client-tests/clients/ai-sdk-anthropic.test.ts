import { createAnthropic } from '@ai-sdk/anthropic';
import { defaultSettingsMiddleware, wrapLanguageModel } from 'ai';
import { testAiSdk } from './ai-sdk-suite.ts';

/** It shows thoughts when asked to, and knows of a model that it has no name for only by this that it takes schemas. */
const anthropic = { thinking: { type: 'adaptive' }, structuredOutputMode: 'outputFormat' };

testAiSdk({
  name: 'AI SDK with @ai-sdk/anthropic',
  modelAt: (baseURL, apiKey, send = fetch) => {
    const provider = createAnthropic({ baseURL, apiKey, fetch: send });
    const settings = { maxOutputTokens: 4096, providerOptions: { anthropic } };
    const middleware = defaultSettingsMiddleware({ settings });
    return (model) => wrapLanguageModel({ model: provider(model), middleware });
  },
  errorsOfBrokenStream: 1,
  showsRawReasoning: true,
});
