import { largeFrom } from '../large-values.ts';
import { parseFields, recordVersion, storedNames } from '../record/fields.ts';
import type { ResponseRecord } from '../record/record.ts';
import { keysOf, type LargeAccess } from '../record/store-access.ts';
import type { HoldMemory } from './open-ends.ts';
import { readWholeRecord } from './read-record.ts';

/** The entry that accept.lua puts at the far end of a list to keep it. */
const nobody = '';

/** A page ends when its responses are longer than this together, in bytes. A single one may be longer. */
const pageBytes = 4 * 1024 * 1024;

/** The memory for a record that is read, parsed and printed, as a multiple of its size in the store. */
const parsedFactor = 3;

/** A page of a tenant's responses, newest first. */
export interface StoredPage {
  records: ResponseRecord[];
  hasMore: boolean;
  /** Gives back the memory that is held for them and what is printed of them; undefined when they are short. */
  free: (() => void) | undefined;
}

/** The response that a listed id stands for. */
type Listed =
  | { kind: 'here'; id: string; bytes: number }
  | { kind: 'expired' | 'of_other_release'; id: string };

/**
 * Stored responses of a tenant, newest first, from the one behind `after` on; undefined when `after` is not among them.
 *
 * The list outlives what it lists: ids whose records have expired are passed over and taken out, so a page is full as
 * long as there is anything to fill it with. Those of another release are passed over and stay. A page of long responses
 * is shorter than `limit`, and `hasMore` says that it goes on: a hundred of them might not fit into memory. Memory for what is
 * more than short is held before it is read.
 */
export async function listStored(
  access: LargeAccess,
  tenant: string,
  { after, limit }: { after: string | undefined; limit: number },
  hold: HoldMemory,
): Promise<StoredPage | undefined> {
  const { redis, keys } = access;
  const list = keys.inCell(keys.home(tenant)).stored(tenant);
  let rank = 0;
  if (after !== undefined) {
    const found = after === nobody ? null : await redis.zrevrank(list, after);
    if (found === null) return undefined;
    rank = found + 1;
  }
  const onPage: (Listed & { kind: 'here' })[] = [];
  let bytes = 0;
  let hasMore = false;
  while (!hasMore) {
    const ids = (await redis.zrevrange(list, rank, rank + limit)).filter((id) => id !== nobody);
    if (ids.length === 0) break;
    const listed = await Promise.all(ids.map((id) => lookAt(access, id)));
    const expired = listed.filter(({ kind }) => kind === 'expired').map(({ id }) => id);
    if (expired.length > 0) await redis.zrem(list, ...expired);
    rank += ids.length - expired.length;
    for (const each of listed) {
      if (each.kind !== 'here') continue;
      bytes += each.bytes;
      hasMore = onPage.length === limit || (onPage.length > 0 && bytes > pageBytes);
      if (hasMore) break;
      onPage.push(each);
    }
  }
  const pageLength = onPage.reduce((sum, each) => sum + each.bytes, 0);
  const free = pageLength > largeFrom ? await hold(parsedFactor * pageLength) : undefined;
  try {
    const records = await Promise.all(onPage.map(({ id }) => readWholeRecord(access, id)));
    // One that was deleted since is not missed.
    return { records: records.filter((record) => record !== undefined), hasMore, free };
  } catch (error) {
    free?.();
    throw error;
  }
}

async function lookAt(access: LargeAccess, id: string): Promise<Listed> {
  const { record } = keysOf(access, id);
  const names = ['version', 'request_ahead', 'status', 'end_bytes'] as const;
  const [values, length] = await Promise.all([
    access.redis.hmget(record, ...storedNames(names)),
    access.redis.hstrlen(record, 'result'),
  ]);
  const found = parseFields(names, values);
  const { version, status, request_ahead: requestAhead = 0, end_bytes: endBytes = length } = found;
  if (status === undefined) return { kind: 'expired', id };
  if (version !== recordVersion) return { kind: 'of_other_release', id };
  return { kind: 'here', id, bytes: requestAhead + endBytes };
}
