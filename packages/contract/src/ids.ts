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
    // A few more than needed, so that throwing some away rarely takes another call.
    for (const byte of randomBytes(length + 4)) {
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

type ItemKind = keyof typeof itemIdPrefixes;

/** Random characters behind the response's own in the id of an output item. */
const outputPart = 8;

/**
 * The id of an output item: the characters of its response's id, then some of its own.
 *
 * An item's id leads to its response, so a reference to an item is resolved without an index of all items, and
 * is as hard to guess as the response.
 */
export function newItemId(kind: ItemKind, responseId: string, randomBytes: RandomBytes): string {
  return itemIdPrefixes[kind] + suffixOf(responseId) + randomSuffix(randomBytes, outputPart);
}

/** The id of an input item: the same whenever it is asked for, so it need not be stored. */
export function inputItemId(type: string, responseId: string, index: number): string {
  const kind = Object.hasOwn(itemIdPrefixes, type) ? (type as ItemKind) : 'item'; // checked by hasOwn
  return itemIdPrefixes[kind] + suffixOf(responseId) + String(index).padStart(5, '0');
}

/** The response that an item's id leads to; undefined for an id that is not one of ours. */
export function responseIdOfItem(itemId: string): string | undefined {
  const suffix = /^[a-z]+_([A-Za-z0-9]{32})[A-Za-z0-9]{5,8}$/.exec(itemId)?.[1];
  return suffix === undefined ? undefined : responseIdPrefix + suffix;
}

function suffixOf(responseId: string): string {
  return responseId.slice(responseIdPrefix.length);
}

export function newCallId(randomBytes: RandomBytes): string {
  return `call_${randomSuffix(randomBytes, 24)}`;
}

export function newRequestId(randomBytes: RandomBytes): string {
  return `req_${randomSuffix(randomBytes)}`;
}
