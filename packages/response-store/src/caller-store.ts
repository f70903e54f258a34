import { newResponseId, type RandomBytes } from '@sluice/contract';
import type { GivenLimits } from '@sluice/contract/tenant-limits';
import { type Lease, ProcessLease } from './record/process-lease.ts';
import { DurabilityBarrier, type DurabilityBarrierOptions } from './delivery/durability.ts';
import type { EndWait } from './delivery/end-wait.ts';
import { type FollowOptions, Relay } from './delivery/relay.ts';
import type { Subscription } from './delivery/subscription.ts';
import { type ContextInputs, locateContextInputs } from './reading/context-inputs.ts';
import { type EarlierTokens, earlierTokens } from './reading/earlier-tokens.ts';
import {
  type ItemLimits,
  type ItemPart,
  type LocatedItems,
  locateInput,
  locateItems,
  readItemPart,
} from './reading/item-parts.ts';
import { type EndReading, type OpenEnd, OpenEnds } from './reading/open-ends.ts';
import { readPreviousId, readShortRecord } from './reading/read-record.ts';
import { wasAskedToEnd } from './reading/was-asked-to-end.ts';
import type { RedisCommands, RedisSubscriber } from './record/connection.ts';
import type { ResponseRecord } from './record/record.ts';
import { ResponseStore, type ResponseStoreOptions } from './response-store.ts';
import { abandon, type Abandonment } from './transitions/abandon.ts';
import { accept, type Accepting, type ContextLimits, keyDigest, renewEveryMs } from './transitions/accept.ts';
import type { AcceptResult } from './transitions/accept-result.ts';
import { attach } from './transitions/attach.ts';
import type { EndRequest } from './transitions/end-requests.ts';
import { eraseAfterReader } from './transitions/erase.ts';
import { leave } from './transitions/leave.ts';
import { noteJob } from './transitions/note-job.ts';

export interface CallerStoreOptions extends ResponseStoreOptions {
  /** For ends and events that readers look up. They can be large, so nobody's short command waits behind them. */
  bulk: RedisCommands;
  /** Subscribed to the channel of this process and used for nothing else. */
  subscriber: RedisSubscriber;
  /** Tells this process from all others. */
  processId: string;
  /** Makes the lease of this process, given its keys. By default it is renewed by the event loop, which requests can hold up. */
  leaseOver?: (keys: readonly string[]) => Lease;
  /** Waits until what was done is as safe as was asked for; without it, as soon as the server has it. */
  durability?: Omit<DurabilityBarrierOptions, 'keys'> | undefined;
  onError: (error: unknown) => void;
}

/**
 * Most bytes of large values in an api that are under way or wait for their turn: four of the largest bodies. Beyond it
 * requests are refused rather than kept in memory. A worker needs no bound, because it takes no more jobs than it runs.
 */
const mostInLine = 256 * 1024 * 1024;

/** What decides on the cell of a new response. */
export interface PlaceOfNew {
  previousId?: string | null | undefined;
  idempotencyKey?: string | undefined;
  /** The limits of its tenant. */
  limits: Readonly<GivenLimits>;
}

/** The store as an api process uses it: accepting, watching and delivering. Holds the lease of the process. */
export class CallerStore extends ResponseStore {
  readonly #processId: string;
  readonly #relay: Relay;
  #started: Promise<void> | undefined;
  readonly #ends: OpenEnds;
  readonly #lease: Lease;
  readonly #barrier: DurabilityBarrier | undefined;
  readonly #onError: (error: unknown) => void;
  /**
   * When the expiry of what a tenant has was renewed last, and whether it had a limit of what runs: by tenant, queue, and whether the response was
   * to be stored.
   */
  readonly #renewed = new Map<string, { at: number; hasPlaces: boolean }>();

  constructor(options: CallerStoreOptions) {
    super(options, mostInLine);
    this.#ends = new OpenEnds(this.access);
    const { subscriber, commands, bulk, processId, leaseOver, onError } = options;
    // Behind a new connection may be a store that has lost the last ends.
    for (const connection of [commands, bulk]) connection.on('close', this.#ends.forget);
    this.#processId = processId;
    const leases = this.keys.cells.map((cell) => this.keys.inCell(cell).apiProcess(processId));
    const { keys } = this;
    const ends = this.#ends;
    this.#relay = new Relay({ redis: bulk, keys, subscriber, channels: leases, ends, onError });
    this.#lease = leaseOver?.(leases) ?? new ProcessLease({ commands, keys: leases, onError });
    const barriers = keys.cells.map((cell) => keys.inCell(cell).barrier);
    this.#barrier = options.durability && new DurabilityBarrier({ ...options.durability, keys: barriers });
    this.#onError = onError;
  }

  /** Resolves when messages arrive and the lease is held. A second call resolves with the first one. */
  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  async #start(): Promise<void> {
    await this.#relay.start();
    await this.#lease.start();
  }

  async stop(): Promise<void> {
    this.#relay.stop();
    await this.#lease.stop();
  }

  /**
   * Ids for a new response of a tenant, at least one: in the cell of the response that it continues from, in the one of its Idempotency-Key, or in each
   * cell of the tenant in which it may ask for room, in order.
   */
  async newIds(tenant: string, randomBytes: RandomBytes, _of: PlaceOfNew): Promise<string[]> {
    return [newResponseId(randomBytes, this.keys.home(tenant))];
  }

  /**
   * The id of the response that an Idempotency-Key of a tenant stands for. `previousId` is what the request of the key continues, which decides on the
   * cell. Asks only cells in which the key may stand for a response, and rejects while one of them is away.
   */
  async responseOfKey(
    tenant: string,
    idempotencyKey: string,
    _previousId?: string,
  ): Promise<string | undefined> {
    const cell = this.keys.inCell(this.keys.home(tenant));
    const key = cell.idempotency(tenant, keyDigest(idempotencyKey));
    const [id] = await this.access.redis.hmget(key, 'id');
    return id ?? undefined;
  }

  /** Admits a response and writes its record and first events, in one step, or refuses it and leaves everything as it was. */
  async accept(accepting: Accepting): Promise<AcceptResult> {
    const { id, tenant, queue, prepared, limits } = accepting;
    const renewal = `${tenant} ${queue} ${prepared.request.store !== false}`;
    const now = performance.now();
    const last = this.#renewed.get(renewal);
    const hasPlaces = limits.concurrent !== undefined;
    // A limit that was taken away is taken away with the next response.
    const mustRenew = !last || last.at <= now - renewEveryMs || last.hasPlaces !== hasPlaces;
    const result = await accept(this.access, accepting, { lease: this.#leaseOf(id), mustRenew });
    if (mustRenew && result.kind === 'accepted') this.#renewed.set(renewal, { at: now, hasPlaces });
    return result;
  }

  /** Where items of a tenant's stored responses are, by their ids, and how long what must be read for them. */
  locateItems(tenant: string, itemIds: readonly string[], limits: ItemLimits): Promise<LocatedItems> {
    return locateItems(this.access, { itemIds, tenant }, limits);
  }

  /** About how many tokens a response and all before it are, or why nothing can continue from it. */
  earlierTokens(tenant: string, responseId: string): Promise<EarlierTokens> {
    return earlierTokens(this.access, { responseId, tenant });
  }

  /** Where the own input of a response is; undefined when the tenant has no such response. */
  locateInput(tenant: string, responseId: string): Promise<ItemPart | undefined> {
    return locateInput(this.access, responseId, { tenant });
  }

  /** How many long ends are in memory for readers. */
  get openEnds(): number {
    return this.#ends.size;
  }

  /** The long end of a response, once there is room for it; undefined when it is gone. See `OpenEnds`. */
  openEnd(responseId: string, reading: EndReading): Promise<OpenEnd | undefined> {
    return this.#ends.open(responseId, reading);
  }

  /** The record of a response with the short members of its request alone, when that is large. */
  readShort(responseId: string): Promise<ResponseRecord | undefined> {
    return readShortRecord(this.access, responseId);
  }

  /** The stored response that a response continues from; undefined when there is none. */
  previousOf(responseId: string): Promise<string | undefined> {
    return readPreviousId(this.access, responseId);
  }

  /** Where the inputs are that an own response was made of; see `locateContextInputs`. */
  locateContextInputs(
    response: { responseId: string; previousId: string | undefined; tenant: string },
    limits: ContextLimits,
  ): Promise<ContextInputs> {
    return locateContextInputs(this.access, response, limits);
  }

  /** The JSON of a part of a response, for `pickItems` and `pickPage`; undefined when it is gone by now. */
  readItemPart(part: ItemPart): Promise<string | Uint8Array<ArrayBuffer> | undefined> {
    return readItemPart(this.access, part);
  }

  /**
   * Waits until all that the store has done by now in the cells of some responses, without any in all cells, is as safe as the
   * settings ask for. False when that takes too long: nobody may be told of it.
   */
  async isDurable(..._responseIds: readonly string[]): Promise<boolean> {
    if (!this.#barrier) return true;
    try {
      return await this.#barrier.reached();
    } catch (error) {
      this.#onError(error);
      return false;
    }
  }

  /** Notes that a response has its job, so that the rescue can tell a lost job from one that was never added. */
  noteJob(responseId: string, jobs?: string): Promise<number | undefined> {
    return noteJob(this.access, responseId, jobs);
  }

  /**
   * Takes back what may have been accepted although its caller was refused. Repeat it, with the deadline of the accept,
   * until it is answered with anything but `undecided`.
   */
  abandon(responseId: string, acceptDeadline: number): Promise<Abandonment> {
    return abandon(this.access, responseId, acceptDeadline);
  }

  /**
   * Makes this process a caller of a response. Follow it first. False when there is none that this release knows, or it is
   * taken back.
   */
  attach(responseId: string): Promise<boolean> {
    return attach(this.access, responseId, this.#leaseOf(responseId));
  }

  /** Takes this process off a response; its end is asked for when nobody else waits. */
  leave(responseId: string, { graceMs }: { graceMs: number }): Promise<EndRequest> {
    return leave(this.access, responseId, { lease: this.#leaseOf(responseId), graceMs });
  }

  /** Takes this process off a response, and everything of the response away with its last reader; see `erase` for `withKey`. */
  eraseAfterReader(responseId: string, tenant: string, { withKey = false } = {}): Promise<boolean> {
    const lease = this.#leaseOf(responseId);
    return eraseAfterReader(this.access, responseId, { tenant, lease, withKey });
  }

  /**
   * Whether somebody asked for the end of a cancelled response. If not, it was ended because its watchers showed no sign
   * of life, which is not so for a caller that can still be told.
   */
  wasAskedToEnd(responseId: string): Promise<boolean> {
    return wasAskedToEnd(this.access, responseId);
  }

  /** Follows the events of a response from a cursor on. */
  follow(responseId: string, options: FollowOptions): Subscription {
    return this.#relay.follow(responseId, options);
  }

  /** Listens for the end of a response and for nothing else. Call it before the accept. */
  awaitEnd(responseId: string): EndWait {
    return this.#relay.awaitEnd(responseId);
  }

  #leaseOf(responseId: string): string {
    return this.keys.of(responseId).apiProcess(this.#processId);
  }
}
