import { parseFields, storedNames } from '../record/fields.ts';
import { keysOf, type StoreAccess } from '../record/store-access.ts';

/**
 * When responses were accepted, in milliseconds of the store's clock, in the order in which they are asked for; undefined for one
 * that is gone. One short command each.
 */
export function acceptedAt(
  access: StoreAccess,
  responseIds: readonly string[],
): Promise<(number | undefined)[]> {
  const names = ['accepted_at'] as const;
  return Promise.all(
    responseIds.map(async (responseId) => {
      const values = await access.redis.hmget(keysOf(access, responseId).record, ...storedNames(names));
      return parseFields(names, values).accepted_at;
    }),
  );
}
