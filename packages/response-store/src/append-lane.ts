import { type Cell, cellOf } from './record/cells.ts';
import type { RedisCommands } from './record/connection.ts';
import type { RedisKeys } from './record/keys.ts';
import { type Append, append, type AppendResult } from './transitions/append.ts';

/** Most events of one call; keeps the script, which holds up everybody else, under a millisecond. */
export const mostEvents = 100;

/** Characters of JSON past which a call takes no further append, so that short events do not wait behind long ones. */
const mostCharacters = 64 * 1024;

export interface AppendLaneOptions {
  redis: RedisCommands;
  keys: RedisKeys;
  /** Time between two calls while there is more to append than that, in milliseconds; 0 for a call in each turn of the event loop. */
  windowMs: number;
}

/** An append that has not left yet. */
export interface WaitingAppend {
  responseId: string;
  /** Gives the append itself, when the call leaves. */
  take: () => Omit<Append, 'responseId'>;
}

interface Entry extends WaitingAppend {
  resolve: (result: AppendResult | undefined) => void;
  reject: (error: unknown) => void;
}

/**
 * Appends of many responses to the store, together.
 *
 * One that comes alone leaves with its turn of the event loop. As long as they come faster than one in a window, those of a window leave in
 * one call: a token of many streams costs a share of a call, and nobody sees two milliseconds between tokens.
 */
export class AppendLane {
  readonly #options: AppendLaneOptions;
  #waiting: Entry[] = [];
  #isScheduled = false;
  #sentAt = Number.NEGATIVE_INFINITY;

  constructor(options: AppendLaneOptions) {
    this.#options = options;
  }

  /**
   * Appends to a response that has no other append under way. Resolves with undefined when it was withdrawn.
   *
   * @throws {Error} when it is not known whether it was done, or could not be; the same again does no harm.
   */
  append(waiting: WaitingAppend): Promise<AppendResult | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<AppendResult | undefined>();
    this.#waiting.push({ ...waiting, resolve, reject });
    this.#schedule();
    return promise;
  }

  /** Takes an append back that has not left. */
  withdraw(responseId: string): void {
    const at = this.#waiting.findIndex((each) => each.responseId === responseId);
    if (at >= 0) for (const { resolve } of this.#waiting.splice(at, 1)) resolve(undefined);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const waitMs = this.#sentAt + this.#options.windowMs - performance.now();
    if (waitMs > 0) setTimeout(() => this.#send(), waitMs);
    else setImmediate(() => this.#send());
  }

  #send(): void {
    this.#isScheduled = false;
    this.#sentAt = performance.now();
    const calls = new Map<Cell, Call>();
    for (const entry of this.#waiting.splice(0)) {
      const cell = cellOf(entry.responseId);
      const taken = { responseId: entry.responseId, ...entry.take() };
      let call = calls.get(cell);
      if (call && !call.hasRoomFor(taken)) {
        void this.#call(call);
        call = undefined;
      }
      if (!call) {
        call = new Call();
        calls.set(cell, call);
      }
      call.add(entry, taken);
    }
    for (const call of calls.values()) void this.#call(call);
  }

  async #call({ entries, appends }: Call): Promise<void> {
    try {
      const results = await append(this.#options, appends);
      for (const [at, { resolve, reject }] of entries.entries()) {
        const result = results[at] ?? new TypeError('The append script left out an answer');
        if (result instanceof Error) reject(result);
        else resolve(result);
      }
    } catch (error) {
      for (const { reject } of entries) reject(error);
    }
  }
}

class Call {
  readonly entries: Entry[] = [];
  readonly appends: Append[] = [];
  #events = 0;
  #characters = 0;

  hasRoomFor({ events }: Append): boolean {
    return this.#events + events.length <= mostEvents && this.#characters + length(events) <= mostCharacters;
  }

  add(entry: Entry, taken: Append): void {
    this.entries.push(entry);
    this.appends.push(taken);
    this.#events += taken.events.length;
    this.#characters += length(taken.events);
  }
}

function length(events: readonly string[]): number {
  return events.reduce((sum, each) => sum + each.length, 0);
}
