import { setImmediate as breathe } from 'node:timers/promises';
import type { InputItem } from '@sluice/contract';
import type { ToldRequest } from '../outbox/told-end.ts';
import type { FieldName, RecordFields } from './fields.ts';
import type { StoredRequest } from './record.ts';
import { keysOf, type LargeAccess } from './store-access.ts';

/** The fields that say where the request and the input of a record are. */
export const placeFields = ['input', 'large_bytes', 'request_ahead'] as const satisfies FieldName[];

type Places = Pick<RecordFields, (typeof placeFields)[number]>;

/** The members of a request that a record holds itself when the whole of the request is in the large value. */
export function shortMembers(request: StoredRequest): StoredRequest {
  const { model, stream, store, background, previous_response_id } = request;
  return {
    model,
    ...(stream !== undefined && { stream }),
    ...(store !== undefined && { store }),
    ...(background !== undefined && { background }),
    ...(previous_response_id !== undefined && { previous_response_id }),
  };
}

/** Those that the outbox tells of, which a record holds as well: an end without a run reads nothing else of a request. */
export function toldMembers({ metadata, webhook_url }: StoredRequest): Omit<ToldRequest, 'model'> {
  return { ...(metadata && { metadata }), ...(webhook_url !== undefined && { webhook_url }) };
}

/**
 * Drops every member but the short ones from a request that is kept for long. It changes the object itself, because a
 * function that waits keeps every object in its scope alive, also one that it does not use again.
 */
export function dropLongMembers(request: StoredRequest): void {
  const short = shortMembers(request);
  for (const name of Object.keys(request)) if (!(name in short)) Reflect.deleteProperty(request, name);
}

/** The JSON of a request that is in the large value; undefined when it is in the record, or lost. */
export async function readRequestAhead(
  access: LargeAccess,
  responseId: string,
  ahead: number | undefined,
): Promise<string | undefined> {
  if (!ahead) return undefined;
  const bytes = await access.large.read(keysOf(access, responseId).large, 0, ahead);
  return bytes?.toString();
}

/** The input of a response, wherever it is; undefined when it is gone. */
export async function inputAt(
  access: LargeAccess,
  responseId: string,
  places: Places,
): Promise<InputItem[] | undefined> {
  const json = await readInputAt(access, responseId, places);
  return json === undefined ? undefined : parseInputInTurns(json);
}

/** The same as JSON: a text, or the bytes of a large one. */
export async function readInputAt(
  access: LargeAccess,
  responseId: string,
  { input, large_bytes: bytes = 0, request_ahead: ahead = 0 }: Places,
): Promise<string | Buffer<ArrayBuffer> | undefined> {
  if (input) return input;
  if (bytes <= ahead) return undefined;
  return access.large.read(keysOf(access, responseId).large, ahead, bytes - ahead);
}

/** An input from its JSON, which the accept wrote from a validated request. */
export function parseInput(json: string | Uint8Array<ArrayBuffer>): InputItem[] {
  return JSON.parse(textOf(json)) as InputItem[];
}

/** More characters than this take as long to be decoded as to be parsed. */
const longFrom = 1024 * 1024;

/** The same beside other work: a long one is decoded in one turn of the event loop, and parsed in the next. */
export async function parseInputInTurns(json: string | Uint8Array<ArrayBuffer>): Promise<InputItem[]> {
  const text = textOf(json);
  if (text.length > longFrom) await breathe();
  return parseInput(text);
}

/** The text of JSON that may be there as bytes in UTF-8. */
export function textOf(json: string | Uint8Array): string {
  return typeof json === 'string' ? json : bytesOf(json).toString();
}

/** The UTF-8 bytes of JSON that may be there as a text. Bytes are not copied. */
export function bytesOf(json: string | Uint8Array): Buffer {
  if (typeof json === 'string') return Buffer.from(json);
  return Buffer.from(json.buffer, json.byteOffset, json.byteLength);
}
