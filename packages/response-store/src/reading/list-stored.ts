import { type ResponseRecord, UnknownVersion } from '../record/record.ts';
import type { LargeAccess } from '../record/store-access.ts';
import { readRecord } from './read-record.ts';

/** What accept.lua puts at the far end of a list to keep it. */
const nobody = '';

/** A page of a tenant's responses, newest first. */
export interface StoredPage {
  records: ResponseRecord[];
  hasMore: boolean;
}

/**
 * Stored responses of a tenant, newest first, from the one behind `after` on; undefined when `after` is not among them.
 *
 * The list outlives what it lists: ids whose records have expired are passed over and taken out, so a page is full as
 * long as there is anything to fill it with. Those of another release are passed over and stay.
 */
export async function listStored(
  access: LargeAccess,
  tenant: string,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<StoredPage | undefined> {
  const { redis, keys } = access;
  const list = keys.inCell(keys.home(tenant)).stored(tenant);
  let rank = 0;
  if (after !== undefined) {
    const found = after === nobody ? null : await redis.zrevrank(list, after);
    if (found === null) return undefined;
    rank = found + 1;
  }
  const records: ResponseRecord[] = [];
  // One more than the page tells whether there is another page.
  while (records.length <= limit) {
    const ids = (await redis.zrevrange(list, rank, rank + limit)).filter((id) => id !== nobody);
    if (ids.length === 0) break;
    const found = await Promise.all(ids.map((id) => readIfKnown(access, id)));
    const expired = ids.filter((_id, at) => found[at] === undefined);
    if (expired.length > 0) await redis.zrem(list, ...expired);
    rank += ids.length - expired.length;
    records.push(...found.filter((record) => record !== undefined && record !== 'unknown_version'));
  }
  return { records: records.slice(0, limit), hasMore: records.length > limit };
}

async function readIfKnown(
  access: LargeAccess,
  responseId: string,
): Promise<ResponseRecord | undefined | 'unknown_version'> {
  try {
    return await readRecord(access, responseId);
  } catch (error) {
    if (error instanceof UnknownVersion) return 'unknown_version';
    throw error;
  }
}
