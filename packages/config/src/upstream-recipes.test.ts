import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadSettings } from './load-settings.ts';
import { isDiscovering } from './settings.ts';

const page = readFileSync(new URL('../../../docs/upstreams.md', import.meta.url), 'utf8');
const recipes = [
  ...page.matchAll(/^## (?<heading>.+)\n(?:(?!^## )[^])*?^```yaml\n(?<yaml>[^]*?)^```$/gm),
].map(({ groups: { heading = '', yaml = '' } = {} }) => ({ heading, yaml }));
/** A value for every variable that a recipe reads. */
const env = Object.fromEntries(
  [...page.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, 'sk-of-the-test']),
);

describe('docs/upstreams.md', () => {
  it('has a recipe for each upstream that it names', () => {
    expect(recipes.map(({ heading }) => heading)).toEqual([
      'What an upstream lists',
      'vLLM',
      'Several servers',
      'Servers behind one name',
      'llama.cpp',
      'Ollama',
      'LM Studio',
      'OpenAI',
      'Anthropic',
      'Google',
      'Mistral',
      'Other vendors by their packages',
      'LiteLLM',
    ]);
    expect(page.match(/^```yaml$/gm)).toHaveLength(recipes.length);
  });

  it.each(recipes)('has a settings file for $heading that loads', ({ yaml }) => {
    const settings = loadSettings({ env, argv: [], cwd: '/srv', readFile: () => yaml });
    expect(settings.models.length > 0 || settings.providers.some(isDiscovering)).toBe(true);
  });
});
