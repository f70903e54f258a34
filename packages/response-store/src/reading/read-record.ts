import { parseFields } from '../record/fields.ts';
import { parseRecord, readerFields, type ResponseRecord } from '../record/record.ts';
import { keysOf, type StoreAccess } from '../record/store-access.ts';

/** The record of a response, or undefined when there is none: unknown, deleted or expired. */
export async function readRecord(
  access: StoreAccess,
  responseId: string,
): Promise<ResponseRecord | undefined> {
  const values = await access.redis.hmget(keysOf(access, responseId).record, ...readerFields);
  return parseRecord(parseFields(readerFields, values));
}

/** The end of a response, as `printEnd` made it; undefined while there is none, null when the response is gone. */
export async function readEnd(access: StoreAccess, responseId: string): Promise<string | undefined | null> {
  const names = ['status', 'result'] as const;
  const values = await access.redis.hmget(keysOf(access, responseId).record, ...names);
  const { status, result } = parseFields(names, values);
  return status === undefined ? null : result;
}
