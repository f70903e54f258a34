import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';
import type { LoggedEvent } from './read-events.ts';

const pageScript = defineScript({
  by: 'attempt',
  file: new URL('../../src/reading/read-event-page.lua', import.meta.url),
  fragments: fragments('long-events'),
  keys: ['log'],
  args: ['from', 'count', 'page_bytes', 'most_bytes'],
  numbers: ['count', 'page_bytes', 'most_bytes'],
});

export interface EventPageBounds {
  count: number;
  /** No further event is read past so many bytes. */
  pageBytes: number;
  /** An event of more bytes is not read. */
  mostBytes: number;
}

/** Logged events after a cursor, or how many bytes the next one has that is larger than any may be. */
export type EventPageRead = { kind: 'read'; events: LoggedEvent[] } | { kind: 'too_long'; bytes: number };

/**
 * Reads events after a cursor, as many as fit: a reader knows what it gets into memory before it does. A long event counts with all
 * of its bytes, and comes as the log has it; `readLongEvent` reads it.
 */
export async function readEventPage(
  access: StoreAccess,
  responseId: string,
  { cursor, count, pageBytes, mostBytes }: EventPageBounds & { cursor: number },
): Promise<EventPageRead> {
  const reply = await pageScript(access.redis, {
    keys: { log: keysOf(access, responseId).log },
    args: {
      from: cursor < 0 ? '-' : `(1-${cursor}`,
      count,
      page_bytes: pageBytes,
      most_bytes: mostBytes,
    },
  });
  if (!Array.isArray(reply)) return { kind: 'too_long', bytes: Number(reply) };
  const events: LoggedEvent[] = [];
  for (let at = 0; at < reply.length; at += 2) {
    events.push({ sequenceNumber: Number(reply[at]), json: String(reply[at + 1]) });
  }
  return { kind: 'read', events };
}
