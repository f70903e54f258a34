import { ChatOpenAI } from '@langchain/openai';
import { testLangChain } from './langchain-suite.ts';

testLangChain({
  name: 'LangChain',
  continuesResponses: true,
  chat: ({ baseUrl, headers, ...options }) =>
    new ChatOpenAI({
      ...options,
      useResponsesApi: true,
      configuration: { baseURL: baseUrl, defaultHeaders: headers },
    }),
});
