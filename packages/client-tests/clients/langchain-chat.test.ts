import { ChatOpenAI } from '@langchain/openai';
import { testLangChain } from './langchain-suite.ts';

testLangChain({
  name: 'LangChain with chat completions',
  chat: ({ baseUrl, headers, ...options }) =>
    new ChatOpenAI({
      ...options,
      useResponsesApi: false,
      configuration: { baseURL: baseUrl, defaultHeaders: headers },
    }),
});
