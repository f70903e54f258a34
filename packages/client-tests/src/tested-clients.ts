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
  const python = (name: string, each: string) => ({
    name,
    language: 'Python',
    packages: [`${each} ${pythonVersion(each)}`],
  });
  return [
    npm('openai', 'openai', 'ws'),
    npm('openai with chat completions', 'openai'),
    npm('openai with embeddings', 'openai'),
    npm('openai with files, batches, usage and webhooks', 'openai'),
    python('openai for Python', 'openai'),
    python('openai for Python with chat completions', 'openai'),
    python('openai for Python with embeddings', 'openai'),
    python('openai for Python with files, batches, usage and webhooks', 'openai'),
    npm('AI SDK with @ai-sdk/openai', 'ai', '@ai-sdk/openai'),
    npm('AI SDK with chat completions of @ai-sdk/openai', 'ai', '@ai-sdk/openai'),
    npm('AI SDK with @ai-sdk/open-responses', 'ai', '@ai-sdk/open-responses'),
    npm('AI SDK with @ai-sdk/anthropic', 'ai', '@ai-sdk/anthropic'),
    {
      ...npm('AI SDK with @ai-sdk/react and @sluice/client', 'ai', '@ai-sdk/react', 'react'),
      language: 'Browser',
    },
    { ...npm('Deep Chat', 'deep-chat'), language: 'Browser' },
    npm('@anthropic-ai/sdk', '@anthropic-ai/sdk'),
    python('anthropic for Python', 'anthropic'),
    npm('OpenAI Agents SDK', '@openai/agents'),
    npm('LangChain', '@langchain/openai', '@langchain/core'),
    npm('LangChain with chat completions', '@langchain/openai', '@langchain/core'),
    npm('LangChain with messages', '@langchain/anthropic', '@langchain/core'),
    { ...npm('Codex CLI', '@openai/codex'), language: 'Program' },
    {
      name: 'Claude Code',
      language: 'Program',
      packages: [`@anthropic-ai/claude-code ${claudeCodeVersion}`],
    },
  ];
}

/** The version of Claude Code that the tests are for. It is not installed with the other clients, as its program has 400 MB. */
export const claudeCodeVersion = '2.1.331';

/** The version of a Python package that the tests are for. */
export function pythonVersion(name: string): string {
  const requirements = readFileSync(new URL('requirements.txt', clientsDirectory), 'utf8');
  const line = requirements.split('\n').find((each) => each.startsWith(`${name}==`));
  if (line === undefined) throw new Error(`requirements.txt does not pin ${name}`);
  return line.slice(name.length + 2).trim();
}

function npmVersion(name: string): string {
  const manifest = readFileSync(new URL('package.json', clientsDirectory), 'utf8');
  // Our own manifest, whose versions are exact.
  const version = (JSON.parse(manifest) as { dependencies: Record<string, string> }).dependencies[name];
  if (version === undefined) throw new Error(`clients/package.json has no ${name}`);
  return version;
}
