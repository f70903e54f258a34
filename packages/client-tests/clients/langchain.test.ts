import { testLangChain } from './langchain-suite.ts';

testLangChain({ name: 'LangChain', useResponsesApi: true });
