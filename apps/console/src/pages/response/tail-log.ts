import type { TailEvent } from '@sluice/contract/admin';

/** The received events of a response, and whether their numbers show a gap or a repeat. */
export interface TailLog {
  /** The newest ones; older ones are only counted. */
  events: readonly TailEvent[];
  received: number;
  /** The number of the last event; -1 before the first. */
  last: number;
  /** Numbers that were left out, and such that came twice. Both stay 0. */
  missing: number;
  repeated: number;
  /** How often the connection was cut and resumed. */
  cuts: number;
  end: 'ended' | 'gone' | undefined;
}

/** How many events are kept to be shown. */
export const mostShown = 500;

/** A log that begins behind the event with this number. */
export function emptyLog(after: number): TailLog {
  return { events: [], received: 0, last: after, missing: 0, repeated: 0, cuts: 0, end: undefined };
}

/** Takes in events that arrived together. */
export function takeEvents(log: TailLog, arrived: readonly TailEvent[]): TailLog {
  let { last, missing, repeated } = log;
  const fresh: TailEvent[] = [];
  for (const event of arrived) {
    const number = event.sequence_number;
    if (number <= last) {
      repeated += 1;
      continue;
    }
    missing += number - last - 1;
    last = number;
    fresh.push(event);
  }
  return {
    ...log,
    events: [...log.events, ...fresh].slice(-mostShown),
    received: log.received + fresh.length,
    last,
    missing,
    repeated,
  };
}
