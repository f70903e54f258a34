import type { ResponseEnd, UnnumberedEvent } from '@sluice/contract';
import type { Redis } from 'ioredis';
import { append, type AppendResult } from './append.ts';
import type { RedisKeys } from './redis-keys.ts';
import type { Retention } from './retention.ts';

/** Most events in one append; keeps the script, which holds up everybody else, under a millisecond. */
const maxBatch = 100;

/** Events that may wait for the store before their producer has to, ten batches of them. */
const mostWaiting = 1_000;

/** Time between tries of an append that got no answer, in milliseconds. */
const retryDelayMs = 100;

export interface EventWriterOptions {
  redis: Redis;
  keys: RedisKeys;
  responseId: string;
  token: string;
  /** The last number in the log so far. */
  sequenceNumber: number;
  /** Whether the response was created as a stream; otherwise only its end is written. */
  streams: boolean;
  retention: Retention;
  /** Called once, as soon as an append says that writing on is pointless. */
  onRefused: (reason: 'superseded' | 'cancelled') => void;
  /** Ends the tries of an append that gets no answer; what was not written by then never is. */
  signal: AbortSignal;
}

/** What the end of an attempt came to: `ok` when its end is the one that counts. */
export type EndResult = Exclude<AppendResult['kind'], 'cancelled'>;

/**
 * Writes the events of one attempt, in order, each numbered once.
 *
 * Events that arrive while an append is under way go out together with the next one, so a lone event leaves at
 * once and a burst costs few scripts. A lost reply is answered by the same append again, under the same
 * numbers: the log has no gap and no repeat. After a refusal nothing more is written.
 */
export class EventWriter {
  readonly #options: EventWriterOptions;
  #next: number;
  #sent = 0;
  #isEnding = false;
  #waiting: string[] = [];
  #running: Promise<void> | undefined;
  #refusal: Exclude<EndResult, 'ok'> | undefined;
  #hasTold = false;

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.#next = options.sequenceNumber + 1;
  }

  /** Takes an event; it leaves with the current turn of the event loop. */
  write(event: UnnumberedEvent): void {
    if (!this.#options.streams) return;
    this.#waiting.push(numberedEvent(event, this.#next));
    this.#next += 1;
    this.#running ??= this.#run();
  }

  /** Whether so much waits to be written that its producer should wait for a `flush`. */
  get isBehind(): boolean {
    return this.#waiting.length > mostWaiting;
  }

  /** Resolves when every event taken so far is in the log, or refused. */
  async flush(): Promise<void> {
    await this.#running;
  }

  /**
   * Ends the response, after all events taken so far.
   *
   * @returns `ok` when this end is the one that counts; otherwise why it does not.
   */
  async end(end: ResponseEnd): Promise<EndResult> {
    // What still waits goes out together with the end, in one append.
    this.#isEnding = true;
    await this.#running;
    while (this.#waiting.length > maxBatch) await this.#appendNext();
    if (this.#refusal) return this.#refusal;
    const { kind } = await this.#send(this.#waiting.splice(0), end);
    // Only events are answered so; the type does not know.
    return kind === 'cancelled' ? 'ok' : kind;
  }

  async #run(): Promise<void> {
    // Lets the events of this turn gather.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0 && !this.#isEnding) await this.#appendNext();
    this.#running = undefined;
  }

  async #appendNext(): Promise<void> {
    const batch = this.#waiting.splice(0, maxBatch);
    if (this.#refusal) return;
    const { kind } = await this.#send(batch);
    if (kind === 'cancelled') this.#tell('cancelled');
    else if (kind !== 'ok') {
      this.#refusal = kind;
      this.#tell('superseded');
    }
  }

  #tell(reason: 'superseded' | 'cancelled'): void {
    if (this.#hasTold) return;
    this.#hasTold = true;
    this.#options.onRefused(reason);
  }

  /** Sends until there is an answer: without one, nobody knows whether the events are written. */
  async #send(events: string[], end?: ResponseEnd): Promise<AppendResult> {
    const { redis, keys, responseId, token, retention, signal, sequenceNumber } = this.#options;
    const first = sequenceNumber + 1 + this.#sent;
    for (;;) {
      try {
        const result = await append(redis, keys, responseId, {
          token,
          sequenceNumber: first,
          events,
          retention,
          ...(end && { end }),
        });
        this.#sent += events.length;
        return result;
      } catch (error) {
        // A defect of ours gets no better by trying again.
        if (error instanceof TypeError) throw error;
        // Nobody answers and nobody waits any longer: to this writer that is the same as a lost lease.
        if (signal.aborted) return { kind: 'superseded' };
        await pause(retryDelayMs, signal);
      }
    }
  }
}

/** An event as the log keeps it: `type` first, which readers find without parsing, and its place in the log for good. */
export function numberedEvent({ type, ...members }: UnnumberedEvent, sequenceNumber: number): string {
  return JSON.stringify({ type, sequence_number: sequenceNumber, ...members });
}

function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, delayMs);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done, { once: true });
  });
}
