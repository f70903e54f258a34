import type { Status } from '@sluice/contract';
import type { LoggedEvent } from './read.ts';

/**
 * What an append publishes to the api processes that have somebody attached: the same bytes that went to the
 * log, and with the last batch what the end added.
 */
export interface RelayMessage {
  responseId: string;
  events: LoggedEvent[];
  /** Status and result of an ended response; the result is JSON of a ResponseEnd. */
  end: { status: Status; result: string } | undefined;
}

/**
 * Reads a message. Its first line says `<response id> <first number> <count> <status or ->`; then comes one
 * line for each event and, after an end, the result. JSON on one line holds no line break, so none is quoted.
 */
export function parseMessage(message: string): RelayMessage | undefined {
  const lines = message.split('\n');
  const [responseId, first, count, status] = lines[0]?.split(' ') ?? [];
  if (!responseId || first === undefined || count === undefined || status === undefined) return undefined;
  const events: LoggedEvent[] = [];
  for (let at = 0; at < Number(count); at += 1) {
    const json = lines[at + 1];
    if (json === undefined) return undefined;
    events.push({ sequenceNumber: Number(first) + at, json });
  }
  const result = lines[Number(count) + 1];
  // The append script takes the status from the transition table.
  const end = status === '-' || result === undefined ? undefined : { status: status as Status, result };
  return { responseId, events, end };
}
