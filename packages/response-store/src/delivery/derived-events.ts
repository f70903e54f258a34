import { deriveEvents, eventTypeOf, type ResponseEnd } from '@sluice/contract';
import { parseEnd } from '../record/end-json.ts';
import type { StoreAccess } from '../record/store-access.ts';
import type { LoggedEvent } from '../reading/read-events.ts';
import { readEnd, readProgress } from '../reading/read-record.ts';
import type { Listener } from './listeners.ts';
import type { ResponseRecord } from '../record/record.ts';
import { hadStarted } from './message.ts';
import type { LogReader } from './subscription.ts';

/**
 * The events of a response that was not created as a stream, as far as they are known: its life cycle while it runs, and
 * everything once it has ended. Each call gives the same numbers to the same events.
 */
export function derivedEvents({
  hasStarted,
  end,
}: {
  hasStarted: boolean;
  end: ResponseEnd | undefined;
}): LoggedEvent[] {
  const types: string[] = ['response.created', 'response.queued'];
  if (hasStarted) types.push('response.in_progress');
  const events = types.map((type, sequenceNumber) => ({ sequenceNumber, json: `{"type":"${type}"}` }));
  if (!end) return events;
  for (const { type, ...members } of deriveEvents(end)) {
    const sequenceNumber = events.length;
    events.push({
      sequenceNumber,
      json: JSON.stringify({ type, sequence_number: sequenceNumber, ...members }),
    });
  }
  events.push({ sequenceNumber: events.length, json: `{"type":"${eventTypeOf(end.status)}"}` });
  return events;
}

/** The number of the last event that there is of a response, logged or derived. */
export function lastNumberOf({
  streams,
  sequenceNumber,
  startedAt,
  end,
}: Pick<ResponseRecord, 'streams' | 'sequenceNumber' | 'startedAt' | 'end'>): number {
  return streams ? sequenceNumber : derivedEvents({ hasStarted: startedAt !== undefined, end }).length - 1;
}

/** What one reader reads in place of the log that its response does not have. */
export class DerivedEvents implements LogReader {
  readonly #access: StoreAccess;
  readonly #responseId: string;
  /** The end that a message brought: a response that is deleted right behind it still ends for its readers. */
  #last: string | undefined;

  constructor(access: StoreAccess, responseId: string) {
    this.#access = access;
    this.#responseId = responseId;
  }

  listener(resync: () => void): Listener {
    return {
      offer: ({ end }) => {
        this.#last ??= end;
        resync();
      },
      resync,
    };
  }

  async events(cursor: number): Promise<LoggedEvent[]> {
    if (this.#last !== undefined) {
      const known = { hasStarted: hadStarted(this.#last), end: parseEnd(this.#last).end };
      return derivedEvents(known).slice(cursor + 1);
    }
    const known = await readProgress(this.#access, this.#responseId);
    return known ? derivedEvents(known).slice(cursor + 1) : [];
  }

  async end(): Promise<string | undefined | null> {
    return this.#last ?? readEnd(this.#access, this.#responseId);
  }
}
