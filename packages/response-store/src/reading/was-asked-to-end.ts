import { parseFields, storedNames } from '../record/fields.ts';
import { keysOf, type StoreAccess } from '../record/store-access.ts';

/**
 * Says whether somebody asked for the end of a cancelled response. A deletion counts, so a record that is gone does, too.
 * Otherwise the response was ended because no process that watched it showed a sign of life.
 */
export async function wasAskedToEnd(access: StoreAccess, responseId: string): Promise<boolean> {
  const names = ['status', 'cancel'] as const;
  const values = await access.redis.hmget(keysOf(access, responseId).record, ...storedNames(names));
  const { status, cancel } = parseFields(names, values);
  return status === undefined || cancel !== undefined;
}
