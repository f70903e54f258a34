import { idInEnd, parseEnd } from '../record/end-json.ts';
import type { LoggedEvent } from '../reading/read-events.ts';

/**
 * A message that the store publishes to the api processes with somebody attached: events as they are in the log, and at the
 * end what it added to the response.
 */
export interface RelayMessage {
  responseId: string;
  events: LoggedEvent[];
  /** The end as `printEnd` made it; undefined while the response goes on. */
  end: string | undefined;
}

/**
 * Reads a message: one response after the other, as many as it has of. The end of a response without a log is the printed end alone.
 * Otherwise the first line says `<response id> <first number> <count> <status or ->`; then comes one line for each event and, after an end, the
 * printed end. JSON on one line holds no line break, so none is quoted. From where a message was cut there is nothing.
 */
export function parseMessages(message: string): RelayMessage[] {
  const ended = idInEnd(message);
  if (ended !== undefined) return [{ responseId: ended, events: [], end: message }];
  const lines = message.split('\n');
  const messages: RelayMessage[] = [];
  for (let at = 0; at < lines.length; ) {
    const [responseId, first, count, status] = lines[at]?.split(' ') ?? [];
    if (!responseId || first === undefined || count === undefined || status === undefined) break;
    const firstEvent = at + 1;
    const afterEvents = firstEvent + Number(count);
    at = afterEvents + (status === '-' ? 0 : 1);
    if (at > lines.length) break;
    messages.push({
      responseId,
      events: lines
        .slice(firstEvent, afterEvents)
        .map((json, each) => ({ sequenceNumber: Number(first) + each, json })),
      end: status === '-' ? undefined : lines[afterEvents],
    });
  }
  return messages;
}

const look = ' look';

/** The id of the response that a message tells to look up, because its news are too large to be told; see `watchers.lua`. */
export function idToLookUp(message: string): string | undefined {
  return message.endsWith(look) ? message.slice(0, -look.length) : undefined;
}

/** Whether a response had begun to run before the end that is printed: `response.queued` has the number 1. */
export function hadStarted(printedEnd: string): boolean {
  return parseEnd(printedEnd).sequenceNumber > 2;
}
