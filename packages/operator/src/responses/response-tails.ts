import { isTerminal, ServiceError } from '@sluice/contract';
import type { TailEnd } from '@sluice/contract/admin';
import {
  type Batch,
  type CallerStores,
  type LoggedEvent,
  type ResponseRecord,
  typeOf,
} from '@sluice/response-store';
import { findResponse } from './find-response.ts';
import { type MemoryBudget, operators } from './memory-budget.ts';

export interface ResponseTailsOptions {
  store: Pick<CallerStores, 'readShort' | 'hasLog' | 'follow' | 'isDurable'>;
  bodyBudget: MemoryBudget;
  /** Makes events as a caller of the response is sent them, as JSON. */
  presentEvents: (record: ResponseRecord) => (event: LoggedEvent, batch: Batch) => string;
  /** Most tails of this process at a time; 64 by default. */
  most?: number;
  /** How often the log is asked while nothing comes, in milliseconds. */
  pollMs?: { first: number; longest: number };
}

/** Takes the events of a tail, each when its reader can take another one. */
export interface TailReader {
  /**
   * Sends an event whose data is JSON already, and waits until the reader has taken enough for another one, however large it is and
   * however slow the reader. Rejects when the reader is gone, or takes nothing for half a minute.
   */
  sendInTurn(event: string, json: string | readonly Buffer[], id?: string): Promise<void>;
  end(): void;
  /** Aborted when the reader has left, is too slow, or was sent its end. */
  readonly signal: AbortSignal;
}

/** The response that a tail shows, and from where on. */
export interface TailRequest {
  responseId: string;
  /** The last number that the reader has; -1 for none. */
  cursor: number;
  withContent: boolean;
}

/** Sends the events of a response to a reader, until the end or until the reader leaves. Called once. */
export type Tail = (reader: TailReader) => Promise<void>;

const defaultMost = 64;
const defaultPollMs = { first: 250, longest: 1_000 };

/**
 * Live tails of responses of any tenant, for operators.
 *
 * A tail is no caller: the store is not told of it, so it keeps no response alive and changes nothing for a tenant. It finds
 * new events in the log, several times a second. Its readers are as slow as they like, and cut off when they take nothing.
 */
export class ResponseTails {
  readonly #options: Required<ResponseTailsOptions>;
  #open = 0;

  constructor(options: ResponseTailsOptions) {
    this.#options = { most: defaultMost, pollMs: defaultPollMs, ...options };
  }

  /** @throws {ServiceError} when there is nothing to follow, or there are as many tails as there may be. */
  async open(request: TailRequest): Promise<Tail> {
    const { store, most } = this.#options;
    const record = await findResponse(store, request.responseId);
    if (record.streams && isTerminal(record.status) && !(await store.hasLog(record.id))) {
      throw new ServiceError('events_gone');
    }
    return async (reader) => {
      if (this.#open >= most) {
        reader.end();
        return;
      }
      this.#open += 1;
      try {
        await this.#send(record, request, reader);
      } finally {
        this.#open -= 1;
      }
    };
  }

  /** @throws {ServiceError} when there is no room for another tail. */
  requireRoom(): void {
    const { most } = this.#options;
    if (this.#open < most) return;
    throw new ServiceError(
      'server_is_overloaded',
      `This process follows ${most} responses for operators already; close one of them.`,
    );
  }

  async #send(
    record: ResponseRecord,
    { cursor, withContent }: TailRequest,
    reader: TailReader,
  ): Promise<void> {
    const { store, pollMs, presentEvents } = this.#options;
    const jsonOf = withContent ? presentEvents(record) : undefined;
    const derived = !record.streams;
    const hold = (bytes: number) => this.#hold(bytes, reader.signal);
    const subscription = store.follow(record.id, { cursor, readFirst: true, derived, pollMs, hold });
    try {
      for (;;) {
        const batch = await subscription.next(reader.signal);
        if (!batch) return await end(reader, 'gone');
        // An end that may be lost is told to nobody; the reader comes back for it.
        if (batch.end && !(await store.isDurable(record.id))) return reader.end();
        for (const event of batch.events) {
          const number = event.sequenceNumber;
          const json = shown(event, jsonOf?.(event, batch));
          // The end of a life-cycle event is that of the batch.
          const texts = event.texts ?? batch.texts;
          await reader.sendInTurn('event', texts?.piecesOf(json) ?? json, String(number));
        }
        if (batch.end) return await end(reader, 'ended');
      }
    } catch (error) {
      if (!reader.signal.aborted) throw error;
    } finally {
      subscription.close();
      reader.end();
    }
  }

  async #hold(bytes: number, signal: AbortSignal): Promise<() => void> {
    const share = this.#options.bodyBudget.open(operators);
    await share.growInTurn(bytes, signal);
    return () => share.release();
  }
}

async function end(reader: TailReader, reason: TailEnd['reason']): Promise<void> {
  await reader.sendInTurn('end', JSON.stringify({ reason } satisfies TailEnd));
  reader.end();
}

/** The JSON of a `TailEvent`. `bytes` is what the log keeps of the event, which abbreviates those of the life cycle. */
function shown({ sequenceNumber, json, texts }: LoggedEvent, content: string | undefined): string {
  const facts = JSON.stringify({
    sequence_number: sequenceNumber,
    type: typeOf(json),
    bytes: texts?.lengthOf(json) ?? Buffer.byteLength(json),
  });
  return content === undefined ? facts : `${facts.slice(0, -1)},"event":${content}}`;
}
