import { type ContentEvent, outputAsInput, type ResponseEnd } from '@sluice/contract';
import { AppendLane } from './append-lane.ts';
import { ProcessLease } from './record/process-lease.ts';
import { type AppendLanes, EventWriter, type EventWriterOptions } from './event-writer.ts';
import { KeptTurns } from './reading/kept-turns.ts';
import { readContext, type ResponseContext } from './reading/read-context.ts';
import { readContentEvents } from './reading/read-events.ts';
import { runningFlows, type RunningFlows } from './reading/running-flows.ts';
import type { Cell } from './record/cells.ts';
import type { RedisCommands, RedisSubscriber } from './record/connection.ts';
import { cellOf } from './record/cells.ts';
import { subscribeOnceTaken } from './record/subscribe.ts';
import type { ClaimedRecord } from './record/record.ts';
import { retentionOf } from './record/retention.ts';
import { keysOf } from './record/store-access.ts';
import { lead } from './rescue/lead.ts';
import { recount } from './rescue/recount.ts';
import { farQueues, type JobOrder, renumber } from './rescue/renumber.ts';
import { type Finding, nextDue, survey, surveyDue } from './rescue/survey.ts';
import { tellCalls } from './server-calls/tell-calls.ts';
import { ResponseStore, type ResponseStoreOptions } from './response-store.ts';
import type { ContextLimits } from './transitions/accept.ts';
import { blame } from './transitions/blame.ts';
import { checkLeases, type LeaseState } from './transitions/check-leases.ts';
import { type Claim, claim, type ClaimOptions, type RoomForInput } from './transitions/claim.ts';
import { type HeldAttempt, release, type ReleaseOptions } from './transitions/release.ts';

/** How long appends of many streams are gathered, in milliseconds. A reader does not see so much between two tokens. */
const appendWindowMs = 2;

export interface AttemptStoreOptions extends ResponseStoreOptions {
  /** For claims, looks at leases and the first events of a response. */
  control: RedisCommands;
  /** For everything that may be large or come in masses. */
  bulk: RedisCommands;
  /** Subscribed to the channel of this process and used for nothing else. */
  subscriber: RedisSubscriber;
  /** Tells this process from all others. */
  processId: string;
  /** Longest time from the first claim to the end, in milliseconds. */
  totalMs: number;
  /** Most runs of a response. */
  maxAttempts: number;
  /** Most that a response may continue from. */
  context: ContextLimits;
  /** Asked before the input of a claimed response is read. Default: there is always room. */
  roomForInput?: RoomForInput;
  /** Most bytes of memory for the last turns of conversations, which are then not read again; none by default. Read at each turn. */
  keptTurnsBytes?: (() => number) | undefined;
  /** How long this process counts as alive after its last sign of life, in milliseconds. */
  leaseMs: number;
  /** The store's clock as this process knows it, in milliseconds; undefined while it does not. */
  now?: () => number | undefined;
  onError: (error: unknown) => void;
  /** Called when somebody asks for the end of a response that this process has claimed. May be missed. */
  onEndAskedFor: (responseId: string) => void;
}

export interface WriterOptions {
  onRefused: EventWriterOptions['onRefused'];
  signal: AbortSignal;
}

/** The store as a worker process uses it: claiming, writing, and rescuing what other processes left. */
export class AttemptStore extends ResponseStore {
  readonly #options: AttemptStoreOptions;
  readonly #lease: ProcessLease;
  readonly #lanes: AppendLanes;
  readonly #keptTurns: KeptTurns;
  #started: Promise<void> | undefined;
  readonly #onMessage = (_channel: string, responseId: string) => this.#options.onEndAskedFor(responseId);

  constructor(options: AttemptStoreOptions) {
    super(options);
    this.#options = options;
    const { control, bulk } = options;
    this.#lanes = {
      first: new AppendLane({ redis: control, keys: this.keys, windowMs: 0 }),
      later: new AppendLane({ redis: bulk, keys: this.keys, windowMs: appendWindowMs }),
    };
    this.#keptTurns = new KeptTurns(options.keptTurnsBytes);
    // Behind a new connection may be a store that has lost the last ends.
    for (const connection of [control, bulk]) connection.on('close', this.#keptTurns.clear);
    this.#lease = new ProcessLease({
      commands: options.commands,
      keys: this.keys.cells.map((cell) => this.#leaseIn(cell)),
      ttlMs: options.leaseMs,
      onError: options.onError,
    });
  }

  /** Resolves when the lease of this process is held and requests for an end are heard. */
  /** A second call resolves with the first one. */
  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  async #start(): Promise<void> {
    const { subscriber } = this.#options;
    subscriber.on('message', this.#onMessage);
    await subscribeOnceTaken(
      subscriber,
      this.keys.cells.map((cell) => this.#leaseIn(cell)),
    );
    await this.#lease.start();
  }

  /** Gives the lease back: whatever is still claimed counts as left behind. */
  async stop(): Promise<void> {
    this.#options.subscriber.off('message', this.#onMessage);
    await this.#lease.stop();
  }

  /**
   * Takes a response for a new attempt, unless a worker that lives runs it; every older token is superseded.
   */
  claim(responseId: string, token: string): Promise<Claim> {
    const { roomForInput } = this.#options;
    return this.#claim(responseId, token, { leaseHeldMs: this.#lease.heldMs, roomForInput });
  }

  /** Takes a response over from its worker: for the rescue, when that worker should have ended it long ago. */
  takeOver(responseId: string, token: string): Promise<Claim> {
    return this.#claim(responseId, token, { leaseHeldMs: undefined });
  }

  /** The writing side of a claimed response. */
  writer(record: ClaimedRecord, { onRefused, signal }: WriterOptions): EventWriter {
    const { control, bulk } = this.#options;
    return new EventWriter({
      control,
      bulk,
      lanes: this.#lanes,
      ends: this.access.ends,
      keys: this.keys,
      onLetIn: this.access.onLetIn,
      outbox: this.access.outbox,
      responseId: record.id,
      request: record.request,
      token: record.token,
      sequenceNumber: record.sequenceNumber,
      streams: record.streams,
      retention: retentionOf(record.request, this.retention),
      now: this.#options.now,
      onRefused,
      onEnded: (end, endBytes) => this.#keepTurn(record, end, endBytes),
      signal,
    });
  }

  /** Everything that a response continues from, oldest first. */
  readContext({ previousId, tenant }: ClaimedRecord): Promise<ResponseContext> {
    const access = { ...this.access, redis: this.#options.bulk };
    const { context: limits } = this.#options;
    return readContext(access, { previousId, tenant }, { limits, kept: this.#keptTurns });
  }

  /** The server that ran a response, where its provider has several; undefined if that is not known. */
  async serverOf(responseId: string): Promise<string | undefined> {
    const [server] = await this.#options.control.hmget(keysOf(this.access, responseId).record, 'server');
    return server ?? undefined;
  }

  /**
   * Tells how many calls of this process are under way, by the key of their server, and returns how many of all other
   * processes are. A process that has told nothing for a few seconds has none.
   */
  shareCalls(own: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>> {
    const access = { redis: this.#options.control, keys: this.keys };
    return tellCalls(access, { process: this.#options.processId, calls: own });
  }

  /** Every content event in the log so far. */
  readContentEvents(responseId: string): Promise<ContentEvent[]> {
    return readContentEvents({ ...this.access, redis: this.#options.bulk }, responseId);
  }

  /** Gives a response back unfinished. False when it was not held any more. */
  release(
    { id, token }: HeldAttempt,
    {
      isCounted,
      isHandOver = false,
      staysReachable = false,
      isUnbegun = false,
      isShown = false,
      limited,
    }: ReleaseOptions,
  ): Promise<boolean> {
    const channel = staysReachable ? this.#leaseIn(cellOf(id)) : undefined;
    const access = { ...this.access, redis: this.#options.control };
    return release(access, { id, token }, { isCounted, isHandOver, isUnbegun, isShown, channel, limited });
  }

  /** Says that the process of a response, which is not this one, died while it ran nothing else. */
  blame(responseId: string): Promise<boolean> {
    return blame({ redis: this.#options.control, keys: this.keys }, responseId);
  }

  /** Says whether this process still holds the responses that it runs. */
  checkLeases(held: readonly { responseId: string; token: string }[]): Promise<LeaseState[]> {
    return checkLeases({ redis: this.#options.control, keys: this.keys }, held);
  }

  /** Takes or renews the right to rescue in a cell. False while another process has it. */
  leadRescue(cell: Cell, leaseMs: number): Promise<boolean> {
    return lead(this.access, cell, { process: this.#options.processId, leaseMs });
  }

  /** A page of the responses without an end, in the order in which their time runs out. */
  survey(cell: Cell, page: { offset: number; count: number }): Promise<Finding[]> {
    return survey(this.access, cell, page);
  }

  /** Responses whose time has run out by `now`, by the store's clock in milliseconds. */
  surveyDue(cell: Cell, due: { now: number; count: number }): Promise<Finding[]> {
    return surveyDue(this.access, cell, due);
  }

  /** When the next response is due; undefined when none is open. */
  nextDue(cell: Cell): Promise<number | undefined> {
    return nextDue(this.access, cell);
  }

  /** Keeps the priorities of a queue below their end, in steps; true as long as there is more to do. */
  renumber(cell: Cell, queue: string, order: JobOrder): Promise<boolean> {
    return renumber(this.access, cell, queue, order);
  }

  /** Queues for which there is something to `renumber`. */
  farQueues(cell: Cell): Promise<string[]> {
    return farQueues(this.access, cell);
  }

  /** The flows to which some running responses of a queue belong, and how far its order has come. */
  runningFlows(
    cell: Cell,
    running: { queue: string; responseIds: readonly string[] },
  ): Promise<RunningFlows> {
    return runningFlows(this.access, cell, running);
  }

  /** Counts the waiting responses of a cell anew. False when there are too many to do it at once. */
  recount(cell: Cell): Promise<boolean> {
    return recount(this.access, cell);
  }

  /** What was just written is not read again when the conversation goes on here. */
  #keepTurn(record: ClaimedRecord, { status, output }: ResponseEnd, endBytes: number): void {
    const { id: responseId, tenant, previousId, input, inputBytes } = record;
    if (record.request.store === false || (status !== 'completed' && status !== 'incomplete')) return;
    if (inputBytes === 0) return;
    const items = [...input, ...output.map(outputAsInput)];
    const place = { responseId, tenant, previousId, inputBytes, endBytes };
    this.#keptTurns.keep({ ...place, largeBytes: 0, requestAhead: 0, items });
  }

  #claim(
    responseId: string,
    token: string,
    held: Pick<ClaimOptions, 'leaseHeldMs' | 'roomForInput'>,
  ): Promise<Claim> {
    const { control, totalMs, maxAttempts, leaseMs: leaseLapseMs } = this.#options;
    const worker = this.#leaseIn(cellOf(responseId));
    const options = { token, worker, leaseLapseMs, totalMs, maxAttempts, ...held };
    return claim({ ...this.access, redis: control }, responseId, options);
  }

  #leaseIn(cell: Cell): string {
    return this.keys.inCell(cell).workerProcess(this.#options.processId);
  }
}
