import { largeFrom } from '../large-values.ts';
import { parseFields, recordVersion, storedNames } from '../record/fields.ts';
import type { Cell } from '../record/cells.ts';
import type { ResponseRecord } from '../record/record.ts';
import { keysOf, type LargeAccess } from '../record/store-access.ts';
import type { HoldMemory } from './open-ends.ts';

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

/** A stored response on a list. */
export interface ListedResponse {
  id: string;
  /** When it was accepted, in milliseconds of the clock of its cell. */
  acceptedAt: number;
  /** How much must be read for it. */
  bytes: number;
}

/** The newest responses of a list, and whether there are more. */
export interface ListedResponses {
  responses: ListedResponse[];
  hasMore: boolean;
}

/** The place of a response on the lists of its tenant, newest first: by the time of its acceptance, and among those of one millisecond by its id. */
export type ListPlace = Pick<ListedResponse, 'id' | 'acceptedAt'>;

/** The response that a listed id stands for. */
type Listed =
  | { kind: 'here'; id: string; bytes: number }
  | { kind: 'expired' | 'of_other_release'; id: string };

/** The place of a response on the lists of a tenant; undefined when it is on none. */
export async function placeOnList(
  { redis, keys }: LargeAccess,
  tenant: string,
  id: string,
): Promise<ListPlace | undefined> {
  if (id === nobody) return undefined;
  const [score] = await redis.zmscore(keys.of(id).stored(tenant), id);
  return score === null || score === undefined ? undefined : { id, acceptedAt: Number(score) };
}

/**
 * Up to `limit` stored responses of a tenant in a cell, newest first, from those behind a place on.
 *
 * The list outlives what it lists: ids whose records have expired are passed over and taken out, so a page is full as
 * long as there is anything to fill it with. Those of another release are passed over and stay. A page of long responses
 * is shorter than `limit`, and `hasMore` says that it goes on: a hundred of them might not fit into memory.
 */
export async function listInCell(
  access: LargeAccess,
  tenant: string,
  { cell, after, limit }: { cell: Cell; after: ListPlace | undefined; limit: number },
): Promise<ListedResponses> {
  const { redis, keys } = access;
  const list = keys.inCell(cell).stored(tenant);
  let rank = after === undefined ? 0 : await rankBehind(redis, list, after);
  const page = new Page(limit);
  while (!page.hasMore) {
    const found = entriesOf(await redis.zrevrange(list, rank, rank + limit, 'WITHSCORES'));
    const entries = found.filter(({ id }) => id !== nobody);
    if (entries.length === 0) break;
    const listed = await Promise.all(entries.map(({ id }) => lookAt(access, id)));
    const expired = listed.filter(({ kind }) => kind === 'expired').map(({ id }) => id);
    if (expired.length > 0) await redis.zrem(list, ...expired);
    rank += entries.length - expired.length;
    for (const [at, each] of listed.entries()) {
      const acceptedAt = entries[at]?.acceptedAt ?? 0;
      if (each.kind === 'here' && !page.add({ id: each.id, acceptedAt, bytes: each.bytes })) break;
    }
  }
  return page;
}

/** The steps of a list, in a store of one cell or of several. */
export interface ListSteps {
  placeOnList: (tenant: string, id: string) => Promise<ListPlace | undefined>;
  listed: (
    tenant: string,
    page: { cell: Cell; after: ListPlace | undefined; limit: number },
  ) => Promise<ListedResponses>;
  readWhole: (id: string) => Promise<ResponseRecord | undefined>;
}

/** A page of the stored responses of a tenant in some cells, newest first; undefined when `after` is not among them. */
export async function listStored(
  steps: ListSteps,
  {
    tenant,
    cells,
    after,
    limit,
  }: { tenant: string; cells: readonly Cell[]; after: string | undefined; limit: number },
  hold: HoldMemory,
): Promise<StoredPage | undefined> {
  const place = after === undefined ? undefined : await steps.placeOnList(tenant, after);
  if (after !== undefined && place === undefined) return undefined;
  const lists = await Promise.all(cells.map((cell) => steps.listed(tenant, { cell, after: place, limit })));
  return readPage(mergeLists(lists, limit), (id) => steps.readWhole(id), hold);
}

/** The newest responses of several lists. */
export function mergeLists(lists: readonly ListedResponses[], limit: number): ListedResponses {
  const page = new Page(limit);
  const all = lists.flatMap(({ responses }) => responses).toSorted(newerFirst);
  // Behind the last one that a list has told of come others of that list, which nobody has seen.
  const ends = new Set(
    lists.flatMap(({ responses, hasMore }) => (hasMore ? (responses.at(-1)?.id ?? []) : [])),
  );
  for (const each of all) {
    if (!page.add(each)) return page;
    if (!ends.has(each.id)) continue;
    page.hasMore = true;
    return page;
  }
  return page;
}

/**
 * Reads the responses of a page. Memory for what is more than short is held before it is read. One that was deleted since is
 * not missed.
 */
async function readPage(
  { responses, hasMore }: ListedResponses,
  read: (id: string) => Promise<ResponseRecord | undefined>,
  hold: HoldMemory,
): Promise<StoredPage> {
  const pageLength = responses.reduce((sum, each) => sum + each.bytes, 0);
  const free = pageLength > largeFrom ? await hold(parsedFactor * pageLength) : undefined;
  try {
    const records = await Promise.all(responses.map(({ id }) => read(id)));
    return { records: records.filter((record) => record !== undefined), hasMore, free };
  } catch (error) {
    free?.();
    throw error;
  }
}

class Page implements ListedResponses {
  readonly responses: ListedResponse[] = [];
  hasMore = false;
  #bytes = 0;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False when there is no room for it: it is on the next page. */
  add(each: ListedResponse): boolean {
    this.#bytes += each.bytes;
    const { length } = this.responses;
    this.hasMore = length === this.#limit || (length > 0 && this.#bytes > pageBytes);
    if (!this.hasMore) this.responses.push(each);
    return !this.hasMore;
  }
}

/** How many are before the first one behind a place, which may be that of a response of another cell. */
async function rankBehind(
  redis: LargeAccess['redis'],
  list: string,
  { id, acceptedAt }: ListPlace,
): Promise<number> {
  const [newer, ofSameTime] = await Promise.all([
    redis.zcount(list, `(${acceptedAt}`, '+inf'),
    redis.zrangebyscore(list, acceptedAt, acceptedAt),
  ]);
  return newer + ofSameTime.filter((each) => each >= id).length;
}

/** The same order as that of `ZREVRANGE`, whose ids are of one length and of ASCII alone. */
function newerFirst(one: ListPlace, other: ListPlace): number {
  return other.acceptedAt - one.acceptedAt || (one.id < other.id ? 1 : -1);
}

function entriesOf(reply: readonly string[]): ListPlace[] {
  return reply.flatMap((id, at) => (at % 2 === 0 ? { id, acceptedAt: Number(reply[at + 1]) } : []));
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
