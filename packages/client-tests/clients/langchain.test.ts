import { ChatOpenAI } from '@langchain/openai';
import { testLangChain } from './langchain-suite.ts';

testLangChain({
  name: 'LangChain',
  continuesResponses: true,
  chat: ({ site, mount, model, apiKey }) =>
    new ChatOpenAI({
      model,
      apiKey,
      useResponsesApi: true,
      maxRetries: 0,
      configuration: { baseURL: site.baseUrl(mount) },
    }),
});
