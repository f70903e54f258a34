import { createOpenResponses } from '@ai-sdk/open-responses';
import { testAiSdk } from './ai-sdk-suite.ts';

testAiSdk({
  name: 'AI SDK with @ai-sdk/open-responses',
  modelAt: (baseUrl, apiKey, send = fetch) =>
    createOpenResponses({ name: 'sluice', url: `${baseUrl}/responses`, apiKey, fetch: send }),
  errorsOfBrokenStream: 2,
  showsRawReasoning: true,
});
