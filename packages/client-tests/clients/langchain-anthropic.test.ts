import { ChatAnthropic } from '@langchain/anthropic';
import { testLangChain } from './langchain-suite.ts';

testLangChain({
  name: 'LangChain with messages',
  countsInputOfStreams: false,
  unknownModel: {
    status: 400,
    type: 'invalid_request_error',
    error: { error: { details: { error_code: 'model_not_found', param: 'model' } } },
  },
  chat: ({ baseUrl, headers, ...options }) =>
    new ChatAnthropic({
      ...options,
      // It adds `/v1` to its address itself.
      anthropicApiUrl: baseUrl.replace(/\/v1$/, ''),
      clientOptions: { defaultHeaders: headers },
    }),
});
