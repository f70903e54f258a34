import type { Generation, Logprob } from '@sluice/contract';
import { isObject, type JsonObject, listOf } from '../json-fields.ts';

/** Whether the client asked for log probabilities. They are left out otherwise, even if the upstream sends them. */
export function wantsLogprobs({ include }: Pick<Generation, 'include'>): boolean {
  return include?.includes('message.output_text.logprobs') ?? false;
}

/** The upstream's log probabilities in the contract's shape, without malformed entries. */
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
