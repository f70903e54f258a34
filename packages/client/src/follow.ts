import { Attempts, type AttemptsOptions, type BaseUrls } from './attempts.ts';
import { ApiError, ConnectionError, StreamError } from './errors.ts';
import { isLastEvent, type ResponseEvent } from './events.ts';
import { type Call, exchange, type ExchangeOptions, framesOf } from './exchange.ts';

export interface FollowOptions extends AttemptsOptions {
  urls: BaseUrls;
  exchange: ExchangeOptions;
  /** The request that begins the stream: with it the id is learned from the first event. */
  creation?: Call;
  responseId?: string;
  /** The number of the last event that is known; -1 for none. */
  startingAfter: number;
}

/**
 * The events of a response, each once and in order, over as many connections as it takes.
 *
 * After a broken connection it goes on behind the last event, at the next base URL if the last one does not answer. A
 * creation whose first event has not come is sent again, which its Idempotency-Key makes safe.
 *
 * @throws {ApiError} when the server refuses, {@link StreamError} when the attempts are used up, or the signal's reason.
 */
export async function* followEvents(options: FollowOptions): AsyncGenerator<ResponseEvent, void, undefined> {
  const { urls, creation, signal } = options;
  const attempts = new Attempts(options);
  let { responseId, startingAfter: last } = options;
  for (;;) {
    const url = urls.current;
    const call = responseId === undefined ? creation : followCall(responseId, last);
    if (!call) throw new TypeError('Nothing says which response is followed.');
    const life = new ConnectionLife();
    try {
      const connection = (each: AbortSignal) => exchange(url, call, options.exchange, each);
      for await (const data of framesOf(connection, options.exchange, signal, () => life.heard())) {
        if (data === '[DONE]') return;
        const event = eventIn(data);
        if (!event || isRepeated(event, last)) continue;
        if (event.sequence_number > last + 1) throw new ConnectionError('Events are missing.');
        if ('response' in event) responseId ??= event.response.id;
        last = event.sequence_number;
        attempts.succeeded();
        yield event;
        if (isLastEvent(event)) return;
      }
      throw new ConnectionError('The stream ended before the response did.');
    } catch (error) {
      // A response may wait in its queue for longer than any connection lives.
      if (life.ms > options.policy.longestMs) attempts.succeeded();
      await attempts.failed(error, url).catch((reason: unknown) => {
        throw reason === error ? streamError(error, responseId, last) : reason;
      });
    }
  }
}

/** How long something was heard over a connection. */
class ConnectionLife {
  #firstAt: number | undefined;
  #lastAt = 0;

  heard(): void {
    this.#lastAt = performance.now();
    this.#firstAt ??= this.#lastAt;
  }

  get ms(): number {
    return this.#firstAt === undefined ? 0 : this.#lastAt - this.#firstAt;
  }
}

function followCall(responseId: string, last: number): Call {
  const cursor = last < 0 ? '' : `&starting_after=${last}`;
  return { method: 'GET', path: `/responses/${encodeURIComponent(responseId)}?stream=true${cursor}` };
}

function eventIn(data: string): ResponseEvent | undefined {
  try {
    const value: unknown = JSON.parse(data);
    const isEvent =
      typeof value === 'object' && value !== null && 'type' in value && 'sequence_number' in value;
    return isEvent ? (value as ResponseEvent) : undefined; // tests hold the events against the contract
  } catch (error) {
    throw new ConnectionError('The server sent what is not JSON.', { cause: error });
  }
}

/** A silent stream repeats the latest step of the life cycle, under the last number or, before there is any, under 0. */
function isRepeated({ sequence_number: number, type }: ResponseEvent, last: number): boolean {
  return number <= last || (number === 0 && type !== 'response.created');
}

function streamError(error: unknown, responseId: string | undefined, lastSequenceNumber: number): unknown {
  const isFinal = error instanceof ApiError ? error.isTransient : error instanceof ConnectionError;
  if (!isFinal) return error;
  const message = 'The events of the response could not be followed to their end.';
  return new StreamError(message, { cause: error, responseId, lastSequenceNumber });
}
