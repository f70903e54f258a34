import { createOpenResponses } from '@ai-sdk/open-responses';
import { testAiSdk } from './ai-sdk-suite.ts';

testAiSdk({
  name: 'AI SDK with @ai-sdk/open-responses',
  modelAt: (baseUrl, apiKey) => createOpenResponses({ name: 'sluice', url: `${baseUrl}/responses`, apiKey }),
  errorsOfBrokenStream: 2,
  showsRawReasoning: true,
});
