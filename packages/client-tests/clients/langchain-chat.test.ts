import { ChatOpenAI } from '@langchain/openai';
import { testLangChain } from './langchain-suite.ts';

testLangChain({
  name: 'LangChain with chat completions',
  chat: ({ site, mount, model, apiKey }) =>
    new ChatOpenAI({
      model,
      apiKey,
      useResponsesApi: false,
      maxRetries: 0,
      configuration: { baseURL: site.baseUrl(mount) },
    }),
});
