import { z } from 'zod';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A source of random bytes; processes pass `crypto.randomBytes`, tests a fixed sequence. */
export type RandomBytes = (size: number) => Uint8Array;

/** Characters after the prefix: 32 of 62 carry 190 bits, so an id cannot be guessed. */
const suffixLength = 32;

/**
 * `length` random characters of `[A-Za-z0-9]`, each equally likely.
 *
 * Bytes of 248 and over are thrown away: taking them modulo 62 would favour the first letters.
 */
export function randomSuffix(randomBytes: RandomBytes, length: number = suffixLength): string {
  let suffix = '';
  while (suffix.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && suffix.length < length) suffix += alphabet[byte % 62];
    }
  }
  return suffix;
}

export const responseIdPrefix = 'create-response_';

/** The shape of a response id. Anything else is an unknown id, without a look into the store. */
export const responseIdSchema = z.string().regex(/^create-response_[A-Za-z0-9]{24,64}$/);

export function newResponseId(randomBytes: RandomBytes): string {
  return responseIdPrefix + randomSuffix(randomBytes);
}

/** Prefixes of item ids. LangChain JS sends an item's id back only under `msg_` and `fc_`. */
export const itemIdPrefixes = {
  message: 'msg_',
  function_call: 'fc_',
  function_call_output: 'fco_',
  reasoning: 'rs_',
  item: 'item_',
} as const;

export function newItemId(kind: keyof typeof itemIdPrefixes, randomBytes: RandomBytes): string {
  return itemIdPrefixes[kind] + randomSuffix(randomBytes);
}

export function newCallId(randomBytes: RandomBytes): string {
  return `call_${randomSuffix(randomBytes, 24)}`;
}

export function newRequestId(randomBytes: RandomBytes): string {
  return `req_${randomSuffix(randomBytes)}`;
}
