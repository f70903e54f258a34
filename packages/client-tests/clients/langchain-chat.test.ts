import { testLangChain } from './langchain-suite.ts';

testLangChain({ name: 'LangChain with chat completions', useResponsesApi: false });
