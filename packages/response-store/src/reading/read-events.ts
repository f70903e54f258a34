import { type ContentEvent, isLifecycleType, parseEvent } from '@sluice/contract';
import type { LongTexts } from '../record/long-texts.ts';
import { isMark, readLongEvent } from '../record/long-event.ts';
import { keysOf, type LargeAccess, type StoreAccess } from '../record/store-access.ts';

/** An event as the log keeps it. The JSON of a life-cycle event is abbreviated to its type, and that of a long event to its mark. */
export interface LoggedEvent {
  sequenceNumber: number;
  json: string;
  /** The long texts that marks in its JSON stand for, of an event that was derived, or was read from a key of its own. */
  texts?: LongTexts | undefined;
}

/** Up to `count` logged events after a cursor; -1 reads from the first. */
export async function readEvents(
  access: StoreAccess,
  responseId: string,
  cursor: number,
  count: number,
): Promise<LoggedEvent[]> {
  const start = cursor < 0 ? '-' : `(1-${cursor}`;
  const entries = await access.redis.xrange(keysOf(access, responseId).log, start, '+', 'COUNT', count);
  return entries.map(([id, fields]) => ({
    sequenceNumber: Number(id.slice(id.indexOf('-') + 1)),
    json: fields[1] ?? '',
  }));
}

/** Whether the events of a streamed response are still there. They go earlier than the response itself. */
export async function hasLog(access: StoreAccess, responseId: string): Promise<boolean> {
  return (await access.redis.exists(keysOf(access, responseId).log)) === 1;
}

/** Events that a reader of the whole log reads at once. */
const pageSize = 500;

/** Every event in the log but those of the life cycle, up to a long one that is gone. */
export async function readContentEvents(access: LargeAccess, responseId: string): Promise<ContentEvent[]> {
  const events: ContentEvent[] = [];
  let cursor = -1;
  for (;;) {
    const page = await readEvents(access, responseId, cursor, pageSize);
    for (const { json: logged, sequenceNumber } of page) {
      cursor = sequenceNumber;
      const json = isMark(logged)
        ? (await readLongEvent(access, responseId, { sequenceNumber, mark: logged }))?.toString()
        : logged;
      if (json === undefined) return events;
      if (isLifecycleType(typeOf(json))) continue;
      events.push(parseEvent(json) as ContentEvent); // its type is not one of the life cycle
    }
    if (page.length < pageSize) return events;
  }
}

/** The type of an event, from JSON whose first member it is, without parsing the rest. */
export function typeOf(json: string): string {
  return json.slice(9, json.indexOf('"', 9));
}
