import { createHash } from 'node:crypto';
import type { ContextItem, Generation } from '@sluice/contract';

/** Where a call should go, so that a server finds the beginning of the prompt in its cache. */
export interface Affinity {
  /** Calls with one key should go to one server. */
  key: string;
  /** Key of the server that ran the response before this one. */
  previous?: string | undefined;
  /** Whether a model has answered in it before. */
  goesOn: boolean;
}

/** The beginning of a prompt is digested in blocks of so many characters. A last part that fills no block is left out. */
export const blockCharacters = 512;

/** So many blocks at most. Longer beginnings would tell conversations apart that have a long one in common. */
export const mostBlocks = 4;

/**
 * Finds out where a call should go: to the server that ran the previous response, else by the client's `prompt_cache_key`,
 * else by the beginning of the prompt. Every key has the tenant in it, so no tenant can choose the servers of another one.
 *
 * @returns undefined for a short prompt that continues nothing, and for embeddings: no cache helps them.
 */
export function affinityOf(
  generation: Pick<Generation, 'prompt_cache_key' | 'instructions' | 'tools' | 'input' | 'embedding'>,
  { tenant, previous }: { tenant: string; previous?: string | undefined },
): Affinity | undefined {
  const { prompt_cache_key: named, embedding } = generation;
  if (embedding) return undefined;
  const key = named ? digestOf(['key', tenant, named]) : prefixKey(generation, tenant);
  const goesOn = previous !== undefined || generation.input.some(isOfModel);
  if (key !== undefined) return { key, previous, goesOn };
  return previous === undefined ? undefined : { key: digestOf(['tenant', tenant]), previous, goesOn };
}

function isOfModel(item: ContextItem): boolean {
  if (item.type === 'message') return item.role === 'assistant';
  return item.type === 'reasoning' || item.type === 'function_call' || item.type === 'custom_tool_call';
}

/** A digest of the first blocks of a prompt, each with all that is before it; undefined when not one is full. */
function prefixKey(
  { instructions, tools, input }: Pick<Generation, 'instructions' | 'tools' | 'input'>,
  tenant: string,
): string | undefined {
  const text = beginningOf([instructions, tools, input], blockCharacters * mostBlocks);
  const blocks = Math.floor(text.length / blockCharacters);
  if (blocks === 0) return undefined;
  let digest = digestOf(['prefix', tenant]);
  for (let at = 0; at < blocks; at += 1) {
    digest = digestOf([digest, text.slice(at * blockCharacters, (at + 1) * blockCharacters)]);
  }
  return digest;
}

/** The first characters of the texts in a value, in their order. Of a long value, no more is read than is needed. */
function beginningOf(value: unknown, characters: number): string {
  let text = '';
  const take = (each: unknown): boolean => {
    if (text.length >= characters) return false;
    if (typeof each === 'string') text += `${each.slice(0, characters - text.length)}\n`;
    else if (Array.isArray(each)) return each.every(take);
    else if (typeof each === 'object' && each !== null) {
      // Ids are made anew for each response.
      for (const name in each) if (name !== 'id' && !take(Reflect.get(each, name))) return false;
    }
    return true;
  };
  take(value);
  return text.slice(0, characters);
}

function digestOf(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:${part}`);
  return hash.digest('base64url').slice(0, 22);
}
