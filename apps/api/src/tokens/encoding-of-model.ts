import type { ModelSettings } from '@sluice/config';
import type { Encoding } from './tokenizer.ts';

/** Names of OpenAI's models by their encoding. */
const newer = /^(gpt-4o|gpt-4\.[1-9]|gpt-[5-9]|chatgpt-4o|o[1-9])(?![a-z0-9])/;
const older = /^(gpt-4|gpt-3\.5)(?![a-z0-9.])/;

/**
 * The encoding of a model: the one in its settings, or that of the OpenAI model that all of its routes name. Undefined where nobody
 * knows, as for a model with routes to models of others.
 */
export function encodingOf({
  tokenizer,
  routes,
}: Pick<ModelSettings, 'tokenizer' | 'routes'>): Encoding | undefined {
  if (tokenizer !== undefined) return tokenizer;
  const [first, ...others] = new Set(routes.map(({ model }) => encodingOfName(model)));
  return others.length === 0 ? first : undefined;
}

/** Routers put the name of the maker before that of the model. */
function encodingOfName(name: string): Encoding | undefined {
  const own = name.replace(/^openai\//, '');
  if (newer.test(own)) return 'o200k_base';
  return older.test(own) ? 'cl100k_base' : undefined;
}
