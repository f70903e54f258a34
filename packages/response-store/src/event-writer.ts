import { setTimeout as pause } from 'node:timers/promises';
import type { ResponseEnd, UnnumberedEvent, Usage } from '@sluice/contract';
import type { AppendLane } from './append-lane.ts';
import type { LargeValues } from './large-values.ts';
import type { RedisCommands } from './record/connection.ts';
import { printTold, type ToldRequest } from './outbox/told-end.ts';
import { printAnyEnd } from './record/end-json.ts';
import type { RedisKeys } from './record/keys.ts';
import { markOf, writeLongEvent } from './record/long-event.ts';
import { printLong } from '@sluice/contract/print-long';
import type { Retention } from './record/retention.ts';
import type { StoreAccess } from './record/store-access.ts';
import {
  countOf,
  finish,
  type FinishResult,
  toolCallsIn,
  writeLongEnd,
  WrittenValueLost,
} from './transitions/finish.ts';
import { type ReadyEvent, textOf, WaitingEvents } from './waiting-events.ts';

/** Time between tries of an append that got no answer, in milliseconds. */
const retryDelayMs = 100;

/** A write of more characters than this is a bulk write, whichever comes first. */
const bulkCharacters = 64 * 1024;

/** What is known of the run of a response and not part of its end. */
export interface RunFacts {
  /** An estimate of the tokens that it took, where its end has no usage. */
  uncounted?: Usage | undefined;
  /** Key of the server that ran it, where its provider has several. */
  server?: string | undefined;
}

/** Where the appends of a process leave, those of all its responses. */
export interface AppendLanes {
  first: AppendLane;
  later: AppendLane;
}

/**
 * Why writing on is pointless.
 *
 * - `superseded`: another attempt holds the lease, or the response has ended or is gone
 * - `events_lost`: the store has lost what was written before, and no other attempt holds the lease
 * - `cancelled`: somebody has asked for the end
 * - `failed`: an append rejected for a reason of our own
 */
export type RefusalReason = 'superseded' | 'events_lost' | 'cancelled' | 'failed';

export interface EventWriterOptions {
  /** For what others wait behind: a first append stands in no line. */
  control: RedisCommands;
  /** For an end after the first append. */
  bulk: RedisCommands;
  /** For a first append, and for those after it. */
  lanes: AppendLanes;
  /** For an end or an event that is long. */
  ends: LargeValues;
  keys: RedisKeys;
  onLetIn?: StoreAccess['onLetIn'];
  outbox?: StoreAccess['outbox'];
  responseId: string;
  /** The request of the response, for the outbox. */
  request: ToldRequest;
  token: string;
  /** The last number in the log so far. */
  sequenceNumber: number;
  /** Whether the response was created as a stream; otherwise only its end is written. */
  streams: boolean;
  retention: Retention;
  /** The store's clock, in milliseconds; undefined while it is not known. */
  now?: (() => number | undefined) | undefined;
  /** Called once, as soon as writing on is pointless. */
  onRefused: (reason: RefusalReason) => void;
  /** Called when the end is written, with its bytes as JSON. */
  onEnded?: ((end: ResponseEnd, bytes: number) => void) | undefined;
  /** Ends the tries of an append that gets no answer; what was not written by then never is. */
  signal: AbortSignal;
}

/**
 * Writes the events of one attempt, in order, each numbered once.
 *
 * Events that arrive while an append waits or is under way go out together, so a lone event leaves at once and
 * a burst costs few scripts. A lost reply is answered by the same append again, under the same numbers: the log has no
 * gap and no repeat. After a refusal nothing more is written.
 */
export class EventWriter {
  readonly #options: EventWriterOptions;
  #next: number;
  #sent = 0;
  #isEnding = false;
  readonly #waiting = new WaitingEvents();
  #running: Promise<void> | undefined;
  /** Takes back the append that waits to leave. */
  #withdraw: (() => void) | undefined;
  #refusal: Exclude<FinishResult, 'ok'> | undefined;
  /** A defect that ended the loop of appends; `flush` and `end` reject with it. */
  #failure: { error: unknown } | undefined;
  #hasTold = false;

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.#next = options.sequenceNumber + 1;
  }

  /** Whether events are wanted at all; those of a response that nobody streams need not be made. */
  get streams(): boolean {
    return this.#options.streams;
  }

  /** Takes an event; it leaves with the current turn of the event loop. */
  write(event: UnnumberedEvent): void {
    if (!this.#options.streams || this.#failure) return;
    this.#waiting.add(event, this.#next);
    this.#next += 1;
    this.#running ??= this.#run();
  }

  /** Whether so much waits to be written that its producer should wait for a `flush`. */
  get isBehind(): boolean {
    return this.#waiting.isTooMuch;
  }

  /** Characters of JSON that wait to be written. */
  get waitingCharacters(): number {
    return this.#waiting.characters;
  }

  /** Resolves when every event taken so far is in the log, or refused. */
  async flush(): Promise<void> {
    await this.#running;
    this.#throwFailure();
  }

  /**
   * Ends the response, after all events taken so far.
   *
   * @returns `ok` when this end is the one that counts; otherwise why it does not.
   */
  async end(end: ResponseEnd, { uncounted, server }: RunFacts = {}): Promise<FinishResult> {
    // Events that still wait go out together with the end, in one script.
    this.#isEnding = true;
    this.#withdraw?.();
    await this.#running;
    this.#throwFailure();
    while (!this.#waiting.areOneBatch) await this.#writeNext();
    if (this.#refusal) return this.#refusal;
    const { control, bulk, ends, responseId, token, streams, retention, now, ...access } = this.#options;
    const batch = this.#waiting.takeBatch();
    const events = batch.map(textOf);
    const sequenceNumber = this.#first();
    const printed = await printAnyEnd({ responseId, sequenceNumber, end });
    const isApart = typeof printed !== 'string';
    const toolCalls = toolCallsIn(end);
    const finishing = {
      token,
      sequenceNumber,
      streams,
      events,
      status: end.status,
      result: isApart ? { bytes: printed.length } : printed,
      counted: countOf(end, uncounted),
      toolCalls,
      told: printTold({
        request: access.request,
        label: access.outbox?.label,
        end,
        uncounted: uncounted?.total_tokens,
      }),
      server,
      retention,
      now: now?.(),
    };
    const characters = events.reduce((sum, { length }) => sum + length, printed.length);
    const redis = this.#isUrgent(characters) ? control : bulk;
    const { keys, onLetIn, outbox } = access;
    const writeEnd = async () => {
      if (isApart) await writeLongEnd({ ends, keys }, { responseId, token }, printed);
    };
    // An end without an answer may have handed over what was written, or may yet: it is written again only when it is gone.
    let write: (() => Promise<unknown>) | undefined = writeEnd;
    const result = await this.#untilAnswered(async () => {
      await write?.();
      write = undefined;
      try {
        return await finish({ redis, keys, onLetIn, outbox }, responseId, finishing);
      } catch (error) {
        if (error instanceof WrittenValueLost)
          write = () => Promise.all([writeEnd(), this.#writeLong(batch)]);
        throw error;
      }
    });
    if (result === 'ok') this.#options.onEnded?.(end, Buffer.byteLength(printed));
    return result;
  }

  /** The loop of appends. Never rejects: nobody awaits it but `flush` and `end`, which may come late or not at all. */
  async #run(): Promise<void> {
    try {
      while (this.#waiting.count > 0 && !this.#isEnding) await this.#writeNext();
    } catch (error) {
      this.#failure = { error };
      this.#waiting.drop();
      this.#tell('failed');
    } finally {
      this.#running = undefined;
    }
  }

  /** Prints and writes the next event, if that is a long one, or appends. An end that comes meanwhile takes its mark along. */
  async #writeNext(): Promise<void> {
    const next = this.#waiting.firstUnprinted;
    if (!next || this.#refusal) return this.#appendNext();
    const { sequenceNumber, form } = next;
    const json = await printLong(form);
    const event = { sequenceNumber, json, mark: markOf(this.#options.token, json) };
    this.#waiting.setPrinted(event);
    if ((await this.#untilAnswered(() => this.#writeLong([event]))) === 'superseded')
      this.#refuse('superseded');
  }

  async #writeLong(events: readonly ReadyEvent[]): Promise<void> {
    for (const event of events) {
      if (typeof event !== 'string') await writeLongEvent(this.#options, this.#options, event);
    }
  }

  async #appendNext(): Promise<void> {
    if (this.#refusal) {
      this.#waiting.drop();
      return;
    }
    const { lanes, responseId, token } = this.#options;
    const lane = this.#isUrgent(this.#waiting.characters) ? lanes.first : lanes.later;
    const sequenceNumber = this.#first();
    let events: ReadyEvent[] | undefined;
    const take = () => {
      this.#withdraw = undefined;
      events ??= this.#waiting.takeBatch();
      return { token, sequenceNumber, events: events.map(textOf) };
    };
    this.#withdraw = () => lane.withdraw(responseId);
    const result = await this.#untilAnswered(async () => {
      const answer = await lane.append({ responseId, take });
      if (answer !== 'lost') return answer;
      // It expired while the store could not be reached.
      await this.#writeLong(events ?? []);
      throw new Error('What was written of a long event was gone');
    });
    this.#sent += events?.length ?? 0;
    if (result === 'cancelled') this.#tell('cancelled');
    else if (result !== undefined && result !== 'ok') this.#refuse(result);
  }

  #refuse(refusal: Exclude<FinishResult, 'ok'>): void {
    this.#refusal = refusal;
    this.#tell(refusal === 'gap' ? 'events_lost' : 'superseded');
  }

  /** Number of the first event that was not sent yet. */
  #first(): number {
    return this.#options.sequenceNumber + 1 + this.#sent;
  }

  /** Each write is answered before the next one leaves, so two connections do not change their order. */
  #isUrgent(characters: number): boolean {
    return this.#sent === 0 && characters < bulkCharacters;
  }

  #tell(reason: RefusalReason): void {
    if (this.#hasTold) return;
    this.#hasTold = true;
    this.#options.onRefused(reason);
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }

  /** Repeats a write until there is an answer: without one, nobody knows whether it was done. */
  async #untilAnswered<Result>(write: () => Promise<Result>): Promise<Result | 'superseded'> {
    const { signal } = this.#options;
    for (;;) {
      try {
        return await write();
      } catch (error) {
        // A defect of ours gets no better by trying again.
        if (error instanceof TypeError) throw error;
        // Nobody answers and nobody waits any longer: to this writer that is the same as a lost lease.
        if (signal.aborted) return 'superseded';
        await pause(retryDelayMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }
}
