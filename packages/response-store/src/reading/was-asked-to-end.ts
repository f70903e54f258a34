import { parseFields, storedNames } from '../record/fields.ts';
import { keysOf, type StoreAccess } from '../record/store-access.ts';

/**
 * Whether somebody asked for the end of a cancelled response: its caller, or whoever deleted it, so also when the record
 * is gone. Otherwise it was ended because no process that watched it showed a sign of life.
 */
export async function wasAskedToEnd(access: StoreAccess, responseId: string): Promise<boolean> {
  const names = ['status', 'cancel'] as const;
  const values = await access.redis.hmget(keysOf(access, responseId).record, ...storedNames(names));
  const { status, cancel } = parseFields(names, values);
  return status === undefined || cancel !== undefined;
}
