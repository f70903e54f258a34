import { includesEncryptedReasoning, type Generation, type OpaqueReasoning } from '@sluice/contract';
import { type JsonObject, parseObject, textOf } from '../json-fields.ts';

/** The origin that reasoning of a Responses upstream is tied to. Its encrypted content is of no use to any other. */
export function opaqueOrigin(providerId: string): string {
  return `openai-responses:${providerId}`;
}

/** The same, where the client wants encrypted reasoning; undefined elsewhere. */
export function wantedOrigin(generation: Generation, providerId: string): string | undefined {
  return includesEncryptedReasoning(generation) ? opaqueOrigin(providerId) : undefined;
}

/** Prints the data that has to come back: the upstream's encrypted content, and its own id of the item. */
export function printOpaque(encryptedContent: string, id: string | undefined): string {
  return JSON.stringify({ encrypted_content: encryptedContent, ...(id !== undefined && { id }) });
}

/** The members of an upstream's reasoning item; undefined for an item of another upstream. */
export function readOpaque(opaque: OpaqueReasoning | undefined, origin: string): JsonObject | undefined {
  if (opaque?.origin !== origin) return undefined;
  const { encrypted_content, id } = parseObject(opaque.data) ?? {};
  if (textOf(encrypted_content) === undefined) return undefined;
  return { encrypted_content, ...(textOf(id) !== undefined && { id }) };
}
