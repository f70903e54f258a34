import type { Generation, Logprob } from '@sluice/contract';
import { isObject, type JsonObject, listOf } from './json-fields.ts';

/** Log probabilities are shown only to those who asked for them, whatever an upstream sends. */
export function wantsLogprobs({ include }: Pick<Generation, 'include'>): boolean {
  return include?.includes('message.output_text.logprobs') ?? false;
}

/** An upstream's log probabilities in the contract's shape; entries that have none are left out. */
export function logprobsFrom(value: unknown): Logprob[] {
  return listOf(value).flatMap((entry) => {
    if (!isObject(entry)) return [];
    const own = tokenLogprob(entry);
    if (!own) return [];
    const top = listOf(entry['top_logprobs']).flatMap((each) =>
      isObject(each) ? (tokenLogprob(each) ?? []) : [],
    );
    return [{ ...own, top_logprobs: top }];
  });
}

function tokenLogprob({ token, logprob, bytes }: JsonObject): Omit<Logprob, 'top_logprobs'> | undefined {
  if (typeof token !== 'string' || typeof logprob !== 'number') return undefined;
  const given = Array.isArray(bytes) && bytes.every((byte) => Number.isInteger(byte));
  return { token, logprob, bytes: given ? bytes : [...Buffer.from(token)] };
}
