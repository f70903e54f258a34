import { ChatAnthropic } from '@langchain/anthropic';
import { testLangChain } from './langchain-suite.ts';

testLangChain({
  name: 'LangChain with messages',
  unknownModel: { status: 400, type: 'invalid_request_error' },
  chat: ({ site, mount, model, apiKey }) =>
    new ChatAnthropic({
      model,
      apiKey,
      maxRetries: 0,
      // It adds `/v1` to its address itself.
      anthropicApiUrl: site.baseUrl(mount).replace(/\/v1$/, ''),
    }),
});
