import type { Waiting } from '@sluice/admission';
import { parseWeight } from '@sluice/admission';
import type { ResponseEnd } from '@sluice/contract';
import type { TenantUseNow } from '@sluice/contract/admin';
import { LargeValues } from './large-values.ts';
import type { HoldMemory } from './reading/open-ends.ts';
import { acceptedAt } from './reading/accepted-at.ts';
import {
  listInCell,
  type ListedResponses,
  type ListPlace,
  placeOnList,
  listStored,
  type StoredPage,
} from './reading/list-stored.ts';
import { areOpen, openIds, openQueues } from './reading/open-responses.ts';
import { queuePriority } from './reading/queue-priority.ts';
import { hasLog, type LoggedEvent, readEvents } from './reading/read-events.ts';
import { readRecord, readWholeRecord } from './reading/read-record.ts';
import { readSummary, type ResponseSummary } from './reading/read-summary.ts';
import { type LimitedTenant, readTenantUse } from './reading/tenant-use.ts';
import type { LargeValueConnection, RedisCommands } from './record/connection.ts';
import { redisKeys, type RedisKeys } from './record/keys.ts';
import type { Cell } from './record/cells.ts';
import type { ResponseRecord } from './record/record.ts';
import type { RetentionSettings } from './record/retention.ts';
import type { LargeAccess, StoreAccess } from './record/store-access.ts';
import { cancel, type CancelOptions, type CancelReason } from './transitions/cancel.ts';
import type { EndRequest } from './transitions/end-requests.ts';
import { erase } from './transitions/erase.ts';
import { endIfQueued, type QueuedEnding } from './transitions/finish.ts';
import { standInLine } from './transitions/stand-in-line.ts';

export interface ResponseStoreOptions {
  /** Short commands with somebody waiting. */
  commands: RedisCommands;
  /** For values that may be large; nothing else goes over it. */
  largeValues: LargeValueConnection;
  /** The same for long ends of responses, so that no request waits behind one; by default the connection for large values. */
  longEnds?: LargeValueConnection | undefined;
  /** Starts every key. */
  keyPrefix: string;
  /** The only one by default. */
  cells?: readonly Cell[];
  retention: RetentionSettings;
  /** Moves the jobs of responses into their queues; see `LetIn`. Without it the rescue does. */
  onLetIn?: StoreAccess['onLetIn'];
  /** Told of responses that this process ends without a worker; see `endIfQueued`. */
  onQueuedEnd?: StoreAccess['onQueuedEnd'];
  /** How many ends wait in the outbox at most; without it none is written there. */
  outbox?: StoreAccess['outbox'];
}

/**
 * The durable truth of responses, and what every process does with it. An api uses `CallerStore` and a worker
 * `AttemptStore`, which add what they alone do.
 *
 * Each method is one step that holds together, however many processes run it: one script, or reads.
 */
export class ResponseStore {
  readonly keys: RedisKeys;
  protected readonly access: LargeAccess;
  protected readonly retention: RetentionSettings;

  /** `mostInLine`: most bytes of large values that are under way or wait for their turn; unbounded by default. */
  constructor(
    {
      commands,
      largeValues,
      longEnds,
      keyPrefix,
      cells,
      retention,
      onLetIn,
      onQueuedEnd,
      outbox,
    }: ResponseStoreOptions,
    mostInLine?: number,
  ) {
    const large = new LargeValues(largeValues, mostInLine);
    this.keys = redisKeys(keyPrefix, cells && (() => cells));
    this.access = {
      redis: commands,
      large,
      // A reader makes room for an end before it reads it.
      ends: longEnds ? new LargeValues(longEnds) : large,
      keys: this.keys,
      onLetIn,
      onQueuedEnd,
      outbox,
    };
    this.retention = retention;
  }

  /** The record of a response, without its end if that is long; undefined for one that is unknown, deleted or expired. */
  read(responseId: string): Promise<ResponseRecord | undefined> {
    return readRecord(this.access, responseId);
  }

  /** The same with its end, however long that is: for who has made room for all of it. */
  readWhole(responseId: string): Promise<ResponseRecord | undefined> {
    return readWholeRecord(this.access, responseId);
  }

  /** The facts of a response without its content; see `readSummary`. */
  readSummary(responseId: string, most: { mostRequestBytes: number }): Promise<ResponseSummary | undefined> {
    return readSummary(this.access, responseId, most);
  }

  /** Up to `count` logged events behind a cursor; -1 reads from the first. */
  readEvents(responseId: string, cursor: number, count: number): Promise<LoggedEvent[]> {
    return readEvents(this.access, responseId, cursor, count);
  }

  /** Whether the events of a streamed response are still there. They go earlier than the response itself. */
  hasLog(responseId: string): Promise<boolean> {
    return hasLog(this.access, responseId);
  }

  /** Stored responses of a tenant, newest first; undefined when `after` is not among them. */
  list(
    tenant: string,
    page: { after: string | undefined; limit: number },
    hold: HoldMemory,
  ): Promise<StoredPage | undefined> {
    return listStored(this, { tenant, cells: [this.keys.home(tenant)], ...page }, hold);
  }

  /** The place of a response on the lists of a tenant; undefined when it is on none. */
  placeOnList(tenant: string, responseId: string): Promise<ListPlace | undefined> {
    return placeOnList(this.access, tenant, responseId);
  }

  /** A page of the stored responses of a tenant in a cell, newest first, before any is read; see `listInCell`. */
  listed(
    tenant: string,
    page: { cell: Cell; after: ListPlace | undefined; limit: number },
  ): Promise<ListedResponses> {
    return listInCell(this.access, tenant, page);
  }

  /** Asks for the end of a response, whether or not anybody waits for it. A second or late call changes nothing. */
  cancel(responseId: string, reason: CancelReason, options?: CancelOptions): Promise<EndRequest> {
    return cancel(this.access, responseId, reason, options);
  }

  /** Ends a response that no worker has taken, and leaves any other as it is; `reason` says why somebody asked for that. */
  endIfQueued(responseId: string, end: ResponseEnd, reason?: CancelReason): Promise<QueuedEnding> {
    return endIfQueued(this.access, responseId, end, { retention: this.retention, reason });
  }

  /** The priority that the job of a response has, for one that was lost; undefined when it waits outside of its queue. */
  queuePriority(responseId: string): Promise<number | undefined> {
    return queuePriority(this.access, responseId);
  }

  /**
   * Lets a response wait for a place of its tenant, when its job waits where no worker takes it; see `onLetIn`. False when it has ended, so
   * that its job is to be removed.
   */
  standInLine(responseId: string): Promise<boolean> {
    return standInLine(this.access, responseId);
  }

  /** Takes everything of a response away, for good. A worker that still runs it is refused from then on. */
  erase(responseId: string, tenant: string, { withKey = false } = {}): Promise<void> {
    return erase(this.access, responseId, { tenant, withKey });
  }

  /** When responses were accepted, in milliseconds of the store's clock; undefined for one that is gone. */
  acceptedAt(responseIds: readonly string[]): Promise<(number | undefined)[]> {
    return acceptedAt(this.access, responseIds);
  }

  /** The use that tenants make of their limits now, in the order in which they are asked for. */
  tenantUse(tenants: readonly LimitedTenant[]): Promise<TenantUseNow[]> {
    return readTenantUse(this.access, tenants);
  }

  /** A page of the ids of responses without an end. */
  openIds(cell: Cell, page: { offset: number; count: number }): Promise<string[]> {
    return openIds(this.access, cell, page);
  }

  /** The encoded names of the queues of all responses without an end; see `openQueues`. */
  openQueues(cell: Cell): Promise<string[]> {
    return openQueues(this.access, cell);
  }

  /** Says of each of these responses of a cell, in their order, whether it has no end. */
  areOpen(cell: Cell, ids: readonly string[]): Promise<boolean[]> {
    return areOpen(this.access, cell, ids);
  }

  /** The responses that wait in a cell, in all and by tenant. */
  async waiting(cell: Cell): Promise<{ all: Waiting; byTenant: Map<string, Waiting> }> {
    const counters = await this.access.redis.hgetall(this.keys.inCell(cell).load);
    const byTenant = new Map<string, Waiting>();
    for (const [name, weight] of Object.entries(counters)) {
      const waiting = parseWeight(weight);
      if (name.startsWith('tenant:') && waiting.responses > 0)
        byTenant.set(name.slice('tenant:'.length), waiting);
    }
    return { all: parseWeight(counters['all']), byTenant };
  }
}
