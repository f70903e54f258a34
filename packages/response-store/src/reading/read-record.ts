import { isTerminal } from '@sluice/contract';
import { largeFrom } from '../large-values.ts';
import { parseEnd } from '../record/end-json.ts';
import { type FieldName, parseFields, type RecordFields, storedNames } from '../record/fields.ts';
import { readRequestAhead } from '../record/large-value.ts';
import { parseRecord, readerFields, type ResponseRecord } from '../record/record.ts';
import { keysOf, type LargeAccess, type StoreAccess } from '../record/store-access.ts';

/**
 * The record of a response without an end that is long, or undefined when there is none: unknown, deleted or expired. Of a large request that
 * somebody deleted from the store, the short members are left.
 */
export async function readRecord(
  access: LargeAccess,
  responseId: string,
): Promise<ResponseRecord | undefined> {
  const { fields, longEndBytes } = await readFields(access, responseId);
  const ahead = await readRequestAhead(access, responseId, fields.request_ahead);
  return parseRecord(ahead === undefined ? fields : { ...fields, request: ahead }, longEndBytes);
}

/** The same with its end, however long that is: for who has made room for all of it. */
export async function readWholeRecord(
  access: LargeAccess,
  responseId: string,
): Promise<ResponseRecord | undefined> {
  const record = await readRecord(access, responseId);
  if (!record || record.longEndBytes === 0) return record;
  const json = await readLongEnd(access, responseId, record.longEndBytes);
  return json && { ...record, end: parseEnd(json.toString()).end, longEndBytes: 0 };
}

/** The same as `readRecord`, with the short members of its request alone, when that is large: nothing else is read of it. */
export async function readShortRecord(
  access: StoreAccess,
  responseId: string,
): Promise<ResponseRecord | undefined> {
  const { fields, longEndBytes } = await readFields(access, responseId);
  return parseRecord(fields, longEndBytes);
}

/** The id of the stored response that a response continues from; undefined when it continues from none, or is gone. */
export async function readPreviousId(access: StoreAccess, responseId: string): Promise<string | undefined> {
  const names = ['previous'] as const;
  const values = await access.redis.hmget(keysOf(access, responseId).record, ...storedNames(names));
  const { previous } = parseFields(names, values);
  return previous === '' ? undefined : previous;
}

/** The number of the last event in the log of a streamed response; undefined when the response is gone. */
export async function readLastNumber(access: StoreAccess, responseId: string): Promise<number | undefined> {
  const names = ['seq'] as const;
  const values = await access.redis.hmget(keysOf(access, responseId).record, ...storedNames(names));
  return parseFields(names, values).seq;
}

/** How far a response is, without what was asked for; undefined when it is gone. */
export async function readProgress(
  access: StoreAccess,
  responseId: string,
): Promise<{ hasStarted: boolean; end: FoundEnd | undefined } | undefined> {
  const { fields, end } = await readWithEnd(access, responseId, ['status', 'started_at']);
  return fields.status === undefined ? undefined : { hasStarted: fields.started_at !== undefined, end };
}

/** The end of a response as it was found: as `printEnd` made it, or how long it is when that is too long to be read at once. */
export type FoundEnd = { kind: 'read'; json: string } | { kind: 'long'; bytes: number };

/** The end of a response; undefined while there is none, null when the response is gone. */
export async function readEnd(access: StoreAccess, responseId: string): Promise<FoundEnd | undefined | null> {
  const { fields, end } = await readWithEnd(access, responseId, ['status']);
  return fields.status === undefined ? null : end;
}

/** An end of fewer bytes is in the record, and a longer one nearly always apart; see `isLong`. */
const longEndFrom = 256 * 1024;

/**
 * An end that was found to be long, over the connection for them; undefined when it is gone. There must be room for it:
 * it comes whole.
 */
export async function readLongEnd(
  access: Pick<LargeAccess, 'ends' | 'keys'>,
  responseId: string,
  bytes: number,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const { record, end } = keysOf(access, responseId);
  const apart = bytes > longEndFrom ? await access.ends.read(end, 0, bytes) : undefined;
  if (apart) return apart;
  // Its texts are shorter than all of it, so it went with the script.
  const json = await access.ends.transfer(bytes, (connection) => connection.hgetBuffer(record, 'result'));
  // A reply is a buffer of its own.
  return (json as Buffer<ArrayBuffer> | null) ?? undefined;
}

/**
 * Short fields of a record, and its end unless it is long. The length comes first: nobody else's short command waits behind
 * megabytes.
 */
export async function readWithEnd<const Name extends FieldName>(
  { redis, keys }: StoreAccess,
  responseId: string,
  wanted: readonly (Name | 'status')[],
): Promise<{ fields: Pick<RecordFields, Name | 'status'>; end: FoundEnd | undefined }> {
  const { record } = keysOf({ keys }, responseId);
  const names = [...wanted, 'end_bytes'] as const;
  const look = async () => {
    const [length, values] = await Promise.all([
      redis.hstrlen(record, 'result'),
      redis.hmget(record, ...storedNames(names)),
    ]);
    const found: Pick<RecordFields, Name | 'status' | 'end_bytes'> = parseFields(names, values);
    return { fields: found, bytes: found.end_bytes ?? length };
  };
  let { fields, bytes } = await look();
  // One that ended between the two is looked at again: then it has both.
  if (bytes === 0 && isTerminal(fields.status ?? 'queued')) ({ fields, bytes } = await look());
  if (bytes === 0) return { fields, end: undefined };
  if (bytes > largeFrom) return { fields, end: { kind: 'long', bytes } };
  const [json] = await redis.hmget(record, 'result');
  // It was deleted since.
  if (json == null) return { fields: parseFields(names, []), end: undefined };
  return { fields, end: { kind: 'read', json } };
}

async function readFields(access: StoreAccess, responseId: string) {
  const { fields, end } = await readWithEnd(access, responseId, readerFields);
  return {
    fields: { ...fields, result: end?.kind === 'read' ? end.json : undefined },
    longEndBytes: end?.kind === 'long' ? end.bytes : 0,
  };
}
