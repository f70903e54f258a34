import type { UnnumberedEvent } from '@sluice/contract';
import { mostEvents } from './append-lane.ts';
import type { LongEvent } from './record/long-event.ts';
import { charactersOf, isLong } from '@sluice/contract/print-long';
import { numbered } from './transitions/numbered-event.ts';

/** Characters of JSON past which an append takes no further event, however few it has. */
const batchCharacters = 512 * 1024;

/** The most that may wait for the store before the producer has to wait: ten appends of events, or so many characters. */
const mostWaiting = { events: 10 * mostEvents, characters: 4 * 1024 * 1024 };

/** The JSON of an event, or a long one that is printed. */
export type ReadyEvent = string | LongEvent;

/** A long event, which is printed when its turn comes. */
interface UnprintedEvent {
  sequenceNumber: number;
  form: object;
}

interface WaitingEvent {
  event: ReadyEvent | UnprintedEvent;
  /** Characters of JSON, about. */
  length: number;
}

/** The events of an attempt that wait to be written, in order. */
export class WaitingEvents {
  #events: WaitingEvent[] = [];
  #characters = 0;

  get count(): number {
    return this.#events.length;
  }

  /** Characters of JSON, about as many as there are of what is not printed. */
  get characters(): number {
    return this.#characters;
  }

  /** Whether so much waits that its producer should wait. */
  get isTooMuch(): boolean {
    return this.#events.length > mostWaiting.events || this.#characters > mostWaiting.characters;
  }

  /** Whether all of them go into one append. */
  get areOneBatch(): boolean {
    return this.#events.length === this.#batchSize();
  }

  add(event: UnnumberedEvent, sequenceNumber: number): void {
    const form = numbered(event, sequenceNumber);
    if (isLong(event)) this.#add({ sequenceNumber, form }, charactersOf(event));
    else {
      const json = JSON.stringify(form);
      this.#add(json, json.length);
    }
  }

  /** The first one, if it is to be printed. */
  get firstUnprinted(): UnprintedEvent | undefined {
    const event = this.#events[0]?.event;
    return event === undefined || isReady(event) ? undefined : event;
  }

  /** Puts a printed event in the place of the first one. */
  setPrinted(event: LongEvent): void {
    this.#characters += event.json.length - (this.#events[0]?.length ?? 0);
    this.#events[0] = { event, length: event.json.length };
  }

  /** Takes as many as go into the next append: none beyond one that is not printed. */
  takeBatch(): ReadyEvent[] {
    return this.#events.splice(0, this.#batchSize()).map(({ event, length }) => {
      if (!isReady(event)) throw new TypeError('An event leaves before it is printed');
      this.#characters -= length;
      return event;
    });
  }

  drop(): void {
    this.#events = [];
    this.#characters = 0;
  }

  #add(event: WaitingEvent['event'], length: number): void {
    this.#events.push({ event, length });
    this.#characters += length;
  }

  #batchSize(): number {
    let characters = 0;
    let count = 0;
    for (const { event } of this.#events) {
      if (!isReady(event) || count === mostEvents) break;
      const { length } = textOf(event);
      if (count > 0 && characters + length > batchCharacters) break;
      characters += length;
      count += 1;
    }
    return count;
  }
}

function isReady(event: WaitingEvent['event']): event is ReadyEvent {
  return typeof event === 'string' || 'mark' in event;
}

/** The event as the scripts take it. */
export function textOf(event: ReadyEvent): string {
  return typeof event === 'string' ? event : event.mark;
}
