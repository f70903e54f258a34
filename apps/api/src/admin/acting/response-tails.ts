import {
  isKeptAfterEnd,
  isLifecycleType,
  isTerminal,
  responseIdSchema,
  ServiceError,
} from '@sluice/contract';
import type { TailEnd } from '@sluice/contract/admin';
import {
  acceptedResponse,
  type Batch,
  type CallerStore,
  dropLongMembers,
  type LoggedEvent,
  type ResponseRecord,
  typeOf,
} from '@sluice/response-store';
import { dialects } from '../../responses/dialect.ts';
import { EventPresentation } from '../../responses/event-presentation.ts';
import { responseNotFound } from '../../responses/refusals.ts';
import type { LiveAnswer } from '../api/live-answer.ts';

export interface ResponseTailsOptions {
  store: Pick<CallerStore, 'readShort' | 'hasLog' | 'follow' | 'isDurable'>;
  /** Holds memory for what is large, until the signal is aborted at most. */
  hold: (bytes: number, signal: AbortSignal) => Promise<() => void>;
  /** Most tails of this process at a time; 64 by default. */
  most?: number;
  /** How often the log is asked while nothing comes, in milliseconds. */
  pollMs?: { first: number; longest: number };
}

/** What a tail shows of a response, and from where on. */
export interface TailRequest {
  responseId: string;
  /** The last number that the reader has; -1 for none. */
  cursor: number;
  withContent: boolean;
}

/** Sends the events of a response to a live answer, until the end or until its reader leaves. Called once. */
export type Tail = (answer: LiveAnswer) => Promise<void>;

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
    const record = await this.#find(request.responseId);
    if (record.streams && isTerminal(record.status) && !(await store.hasLog(record.id))) {
      throw new ServiceError('events_gone');
    }
    return async (answer) => {
      if (this.#open >= most) {
        answer.end();
        return;
      }
      this.#open += 1;
      try {
        await this.#send(record, request, answer);
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

  async #find(responseId: string): Promise<ResponseRecord> {
    const isId = responseIdSchema.safeParse(responseId).success;
    const record = isId ? await this.#options.store.readShort(responseId) : undefined;
    if (!record || (isTerminal(record.status) && !isKeptAfterEnd(record.request))) throw responseNotFound();
    return record;
  }

  async #send(
    record: ResponseRecord,
    { cursor, withContent }: TailRequest,
    answer: LiveAnswer,
  ): Promise<void> {
    const { store, pollMs } = this.#options;
    const jsonOf = withContent ? presented(record) : undefined;
    const derived = !record.streams;
    const hold = (bytes: number) => this.#options.hold(bytes, answer.signal);
    const subscription = store.follow(record.id, { cursor, readFirst: true, derived, pollMs, hold });
    try {
      for (;;) {
        const batch = await subscription.next(answer.signal);
        if (!batch) return await end(answer, 'gone');
        // Nobody is told of an end that may be lost; the reader comes back for it.
        if (batch.end && !(await store.isDurable())) return answer.end();
        for (const event of batch.events) {
          const number = event.sequenceNumber;
          const json = shown(event, jsonOf?.(event, batch));
          // The end of a life-cycle event is that of the batch.
          const texts = event.texts ?? batch.texts;
          await answer.sendInTurn('event', texts?.piecesOf(json) ?? json, String(number));
        }
        if (batch.end) return await end(answer, 'ended');
      }
    } catch (error) {
      if (!answer.signal.aborted) throw error;
    } finally {
      subscription.close();
      answer.end();
    }
  }
}

async function end(answer: LiveAnswer, reason: TailEnd['reason']): Promise<void> {
  await answer.sendInTurn('end', JSON.stringify({ reason } satisfies TailEnd));
  answer.end();
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

/**
 * Makes events as a caller is sent them. Those of the life cycle repeat the request, but for the long members of a large one:
 * nobody holds megabytes for a console.
 */
function presented(record: ResponseRecord): (event: LoggedEvent, batch: Batch) => string {
  const presentation = new EventPresentation({
    dialect: dialects[0] ?? { mount: '/api/v1', object: 'create_response' },
    obfuscate: false,
    specificationNames: false,
  });
  if (record.largeRequestBytes > 0) dropLongMembers(record.request);
  const accepted = acceptedResponse(record);
  return (event, { end: ended }) => {
    const type = typeOf(event.json);
    if (!isLifecycleType(type)) return presentation.present(event).json;
    return presentation.lifecycle(accepted, { type, sequenceNumber: event.sequenceNumber }, ended).json;
  };
}
