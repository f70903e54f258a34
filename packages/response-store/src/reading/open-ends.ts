import type { ResponseEnd } from '@sluice/contract';
import { parseEnd } from '../record/end-json.ts';
import { readLongEvent } from '../record/long-event.ts';
import { LongTexts } from '../record/long-texts.ts';
import type { LargeAccess } from '../record/store-access.ts';
import type { LoggedEvent } from './read-events.ts';
import { readLongEnd } from './read-record.ts';

/**
 * Holds memory for so many bytes on behalf of a caller until the returned function is called. Waits while there is too
 * little, and rejects when that takes too long or the caller has left.
 */
export type HoldMemory = (bytes: number) => Promise<() => void>;

/** An end that somebody reads. The long texts in it are marks; `texts` puts them back where it is printed. */
export interface KnownEnd {
  end: ResponseEnd;
  texts?: LongTexts | undefined;
}

/** An end for which memory is held until it is closed. Closing it again does nothing. */
export interface OpenEnd extends KnownEnd {
  /** How many bytes its short parts have as JSON if these are many, for which its reader holds memory; 0 otherwise. */
  hollowBytes: number;
  /** Whether it is what a store has that says that the end has so many bytes. A failover may have replaced it. */
  isOf: (bytes: number) => boolean;
  close: () => void;
}

export interface EndReading {
  /** The length of the end as JSON. */
  bytes: number;
  hold: HoldMemory;
  /**
   * Holds what a reader needs for itself beside an end that others have opened, and for whose short parts, if these are many, so many bytes.
   * Nothing is held then by who waits for it.
   */
  holdBeside?: HoldMemory | undefined;
}

type ReadEnd = KnownEnd & Pick<OpenEnd, 'hollowBytes'> & { free: () => void };

interface SharedEnd {
  bytes: number;
  readers: number;
  read: Promise<ReadEnd | undefined>;
}

/** The most memory that a parsed end takes, as a multiple of its JSON without long texts. */
const parsedFactor = 6;

/** A parsed end of up to this many bytes counts as none. */
const smallHollow = 64 * 1024;

/**
 * The long ends of responses that are read in a process. Any number of readers of a response share one copy, and the memory
 * that is held for it: the bytes as the store has them, and of what they mean no more than the short parts.
 *
 * A store that failed over may have another end of the same response. One of another length is told from it; `forget` on a connection that was lost,
 * for those of the same length.
 */
export class OpenEnds {
  readonly #access: Pick<LargeAccess, 'ends' | 'keys'>;
  /** Those that further readers may join. */
  readonly #shared = new Map<string, SharedEnd>();
  readonly #open = new Set<SharedEnd>();

  constructor(access: Pick<LargeAccess, 'ends' | 'keys'>) {
    this.#access = access;
  }

  /** How many ends are in memory. */
  get size(): number {
    return this.#open.size;
  }

  /** Has whoever opens an end from now on read it anew. Who has opened one keeps it. */
  readonly forget = (): void => {
    this.#shared.clear();
  };

  /**
   * Opens an end of so many bytes, once there is room for it; undefined when it is gone by now. Rejects when there is no
   * room, or the store does not answer.
   */
  async open(responseId: string, { bytes, hold, holdBeside }: EndReading): Promise<OpenEnd | undefined> {
    for (;;) {
      const known = this.#known(responseId, bytes);
      if (known && !holdBeside) return this.#join(responseId, known);
      if (known && holdBeside) {
        const read = await known.read;
        if (!read) return undefined;
        const freeBeside = await holdBeside(read.hollowBytes);
        // Its readers may have closed it meanwhile.
        if (this.#known(responseId, bytes) === known) return this.#join(responseId, known, freeBeside);
        freeBeside();
        continue;
      }
      const free = await hold(bytes);
      // Each reader waits for its own room, since another may wait for longer. By now somebody may have read the end.
      if (this.#known(responseId, bytes)) {
        free();
        continue;
      }
      const shared: SharedEnd = { bytes, readers: 0, read: this.#read(responseId, { bytes, hold, free }) };
      this.#shared.set(responseId, shared);
      this.#open.add(shared);
      return this.#join(responseId, shared);
    }
  }

  /** The event behind a mark in the log, for a reader who holds memory for it; undefined when it is gone by now. */
  async readEvent(
    responseId: string,
    { sequenceNumber, json: mark }: LoggedEvent,
  ): Promise<LoggedEvent | undefined> {
    const json = await readLongEvent(this.#access, responseId, { sequenceNumber, mark });
    if (!json) return undefined;
    const { hollow, texts } = await LongTexts.takenFrom(json);
    return { sequenceNumber, json: hollow, texts };
  }

  /** The end of a response that is open and has so many bytes. */
  #known(responseId: string, bytes: number): SharedEnd | undefined {
    const shared = this.#shared.get(responseId);
    return shared?.bytes === bytes ? shared : undefined;
  }

  async #join(responseId: string, shared: SharedEnd, freeBeside?: () => void): Promise<OpenEnd | undefined> {
    shared.readers += 1;
    let isOpen = true;
    let free: (() => void) | undefined;
    const close = () => {
      if (!isOpen) return;
      isOpen = false;
      freeBeside?.();
      shared.readers -= 1;
      if (shared.readers > 0) return;
      this.#open.delete(shared);
      if (this.#shared.get(responseId) === shared) this.#shared.delete(responseId);
      free?.();
    };
    const isOf = (bytes: number) => this.#known(responseId, bytes) === shared;
    try {
      const read = await shared.read;
      free = read?.free;
      if (read) return { end: read.end, texts: read.texts, hollowBytes: read.hollowBytes, isOf, close };
      close();
      return undefined;
    } catch (error) {
      close();
      throw error;
    }
  }

  async #read(
    responseId: string,
    { bytes, hold, free }: { bytes: number; hold: HoldMemory; free: () => void },
  ): Promise<ReadEnd | undefined> {
    let heldBytes = bytes;
    let freeHeld = free;
    try {
      for (;;) {
        const json = await readLongEnd(this.#access, responseId, bytes);
        if (!json) {
          freeHeld();
          return undefined;
        }
        const { hollow, texts } = await LongTexts.takenFrom(json);
        const hollowBytes = hollow.length > smallHollow ? hollow.length : 0;
        const needed = bytes + parsedFactor * hollowBytes;
        if (needed <= heldBytes) return { end: parseEnd(hollow).end, texts, hollowBytes, free: freeHeld };
        // It has many short parts. Nothing is held while more is waited for, or two that wait would wait for each other.
        freeHeld();
        freeHeld = () => undefined;
        freeHeld = await hold(needed);
        heldBytes = needed;
      }
    } catch (error) {
      freeHeld();
      throw error;
    }
  }
}
