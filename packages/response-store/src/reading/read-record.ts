import type { ResponseEnd } from '@sluice/contract';
import { parseEnd } from '../record/end-json.ts';
import { parseFields, storedNames } from '../record/fields.ts';
import { readRequestAhead } from '../record/large-value.ts';
import { parseRecord, readerFields, type ResponseRecord } from '../record/record.ts';
import { keysOf, type LargeAccess, type StoreAccess } from '../record/store-access.ts';

/**
 * The record of a response, or undefined when there is none: unknown, deleted or expired. Of a large request that
 * somebody deleted from the store, the short members are left.
 */
export async function readRecord(
  access: LargeAccess,
  responseId: string,
): Promise<ResponseRecord | undefined> {
  const fields = await readFields(access, responseId);
  const ahead = await readRequestAhead(access, responseId, fields.request_ahead);
  return parseRecord(ahead === undefined ? fields : { ...fields, request: ahead });
}

/** The same with the short members of its request alone, when that is large: nothing else is read of it. */
export async function readShortRecord(
  access: StoreAccess,
  responseId: string,
): Promise<ResponseRecord | undefined> {
  return parseRecord(await readFields(access, responseId));
}

/** The id of the stored response that a response continues from; undefined when it continues from none, or is gone. */
export async function readPreviousId(access: StoreAccess, responseId: string): Promise<string | undefined> {
  const names = ['previous'] as const;
  const values = await access.redis.hmget(keysOf(access, responseId).record, ...storedNames(names));
  const { previous } = parseFields(names, values);
  return previous === '' ? undefined : previous;
}

async function readFields({ redis, keys }: StoreAccess, responseId: string) {
  const values = await redis.hmget(keysOf({ keys }, responseId).record, ...storedNames(readerFields));
  return parseFields(readerFields, values);
}

/** How far a response is, without what was asked for; undefined when it is gone. */
export async function readProgress(
  access: StoreAccess,
  responseId: string,
): Promise<{ hasStarted: boolean; end: ResponseEnd | undefined } | undefined> {
  const names = ['status', 'started_at', 'result'] as const;
  const values = await access.redis.hmget(keysOf(access, responseId).record, ...storedNames(names));
  const { status, started_at: startedAt, result } = parseFields(names, values);
  if (status === undefined) return undefined;
  return {
    hasStarted: startedAt !== undefined,
    end: result === undefined ? undefined : parseEnd(result).end,
  };
}

/** The end of a response, as `printEnd` made it; undefined while there is none, null when the response is gone. */
export async function readEnd(access: StoreAccess, responseId: string): Promise<string | undefined | null> {
  const names = ['status', 'result'] as const;
  const values = await access.redis.hmget(keysOf(access, responseId).record, ...storedNames(names));
  const { status, result } = parseFields(names, values);
  return status === undefined ? null : result;
}
