import { z } from 'zod';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A source of random bytes. Processes pass `crypto.randomBytes`, and tests pass a fixed sequence. */
export type RandomBytes = (size: number) => Uint8Array;

/** How many characters follow the prefix. 31 of them are random and carry 184 bits, so nobody can guess an id. */
const suffixLength = 32;

/**
 * Returns `length` random characters of `[A-Za-z0-9]`, each equally likely.
 *
 * Bytes from 248 on are thrown away, because taking them modulo 62 would favour the first letters.
 */
export function randomSuffix(randomBytes: RandomBytes, length: number = suffixLength): string {
  let suffix = '';
  while (suffix.length < length) {
    // A few bytes more than needed: some are thrown away, and another call is then rarely necessary.
    for (const byte of randomBytes(length + 4)) {
      if (byte < 248 && suffix.length < length) suffix += alphabet[byte % 62];
    }
  }
  return suffix;
}

export const responseIdPrefix = 'create-response_';

/** The shape of a response id. Any other text is an unknown id, and the store need not be asked. */
export const responseIdSchema = z.string().regex(/^create-response_[A-Za-z0-9]{24,64}$/);

/** Whether a text has the shape of a response id. */
export function isResponseId(text: string): boolean {
  return responseIdSchema.safeParse(text).success;
}

/** `cell` is the letter or digit of the store's cell that holds the response; the id says it first. */
export function newResponseId(randomBytes: RandomBytes, cell: string = '0'): string {
  return responseIdPrefix + cell + randomSuffix(randomBytes, suffixLength - 1);
}

/** Prefixes of item ids. LangChain JS sends an item's id back only under `msg_` and `fc_`. */
export const itemIdPrefixes = {
  message: 'msg_',
  function_call: 'fc_',
  function_call_output: 'fco_',
  custom_tool_call: 'ctc_',
  reasoning: 'rs_',
  compaction: 'cmp_',
  item: 'item_',
} as const;

type ItemKind = keyof typeof itemIdPrefixes;

/** How many random characters the id of an output item has of its own. */
const outputPart = 8;

/**
 * Makes the id of an output item: the characters of its response's id, then some of its own.
 *
 * The id of an item leads to its response. A reference to an item therefore needs no index of all items, and is as
 * hard to guess as the response.
 */
export function newItemId(kind: ItemKind, responseId: string, randomBytes: RandomBytes): string {
  return itemIdPrefixes[kind] + suffixOf(responseId) + randomSuffix(randomBytes, outputPart);
}

/** Returns the id of an input item. The same place always has the same id, so it need not be stored. */
export function inputItemId(type: string, responseId: string, index: number): string {
  const kind = Object.hasOwn(itemIdPrefixes, type) ? (type as ItemKind) : 'item'; // checked by hasOwn
  return itemIdPrefixes[kind] + suffixOf(responseId) + String(index).padStart(5, '0');
}

/** Returns the id of the response that an item belongs to, or undefined if the item's id is not one of ours. */
export function responseIdOfItem(itemId: string): string | undefined {
  const suffix = /^[a-z]+_([A-Za-z0-9]{32})[A-Za-z0-9]{5,8}$/.exec(itemId)?.[1];
  return suffix === undefined ? undefined : responseIdPrefix + suffix;
}

function suffixOf(responseId: string): string {
  return responseId.slice(responseIdPrefix.length);
}

/** The id of a compaction. It is no response: nothing can be read by it, and nothing continues from it. */
export function newCompactionId(randomBytes: RandomBytes): string {
  return `compact-response_${randomSuffix(randomBytes)}`;
}

export function newCallId(randomBytes: RandomBytes): string {
  return `call_${randomSuffix(randomBytes, 24)}`;
}

export function newRequestId(randomBytes: RandomBytes): string {
  return `req_${randomSuffix(randomBytes)}`;
}
