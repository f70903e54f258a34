import { readFileSync } from 'node:fs';
import type { TestedClient } from './clients-page.ts';

/** Where the clients are installed, apart from the workspace. */
export const clientsDirectory = new URL('../clients/', import.meta.url);

/** Every client, in the order of the page, with the versions that are pinned. */
export function testedClients(): TestedClient[] {
  const npm = (name: string, ...packages: string[]) => ({
    name,
    language: 'Node.js',
    packages: packages.map((each) => `${each} ${npmVersion(each)}`),
  });
  return [
    npm('openai', 'openai', 'ws'),
    npm('openai with chat completions', 'openai'),
    { name: 'openai for Python', language: 'Python', packages: [`openai ${pythonVersion()}`] },
    {
      name: 'openai for Python with chat completions',
      language: 'Python',
      packages: [`openai ${pythonVersion()}`],
    },
    npm('AI SDK with @ai-sdk/openai', 'ai', '@ai-sdk/openai'),
    npm('AI SDK with chat completions of @ai-sdk/openai', 'ai', '@ai-sdk/openai'),
    npm('AI SDK with @ai-sdk/open-responses', 'ai', '@ai-sdk/open-responses'),
    npm('AI SDK with @ai-sdk/anthropic', 'ai', '@ai-sdk/anthropic'),
    {
      ...npm('AI SDK with @ai-sdk/react and @sluice/client', 'ai', '@ai-sdk/react', 'react'),
      language: 'Browser',
    },
    npm('@anthropic-ai/sdk', '@anthropic-ai/sdk'),
    npm('OpenAI Agents SDK', '@openai/agents'),
    npm('LangChain', '@langchain/openai', '@langchain/core'),
    npm('LangChain with chat completions', '@langchain/openai', '@langchain/core'),
    { ...npm('Codex CLI', '@openai/codex'), language: 'Program' },
  ];
}

/** The version of the Python package `openai` that the tests are for. */
export function pythonVersion(): string {
  const line = /^openai==(\S+)$/m.exec(readFileSync(new URL('requirements.txt', clientsDirectory), 'utf8'));
  if (line?.[1] === undefined) throw new Error('requirements.txt does not pin openai');
  return line[1];
}

function npmVersion(name: string): string {
  const manifest = readFileSync(new URL('package.json', clientsDirectory), 'utf8');
  // Our own manifest, whose versions are exact.
  const version = (JSON.parse(manifest) as { dependencies: Record<string, string> }).dependencies[name];
  if (version === undefined) throw new Error(`clients/package.json has no ${name}`);
  return version;
}
