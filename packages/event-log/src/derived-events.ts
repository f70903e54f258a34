import { deriveEvents, eventTypeOf } from '@sluice/contract';
import type { LoggedEvent } from './read.ts';
import type { ResponseRecord } from './record.ts';

/**
 * The events of a response that was not created as a stream, as far as they are known: its life cycle while it
 * runs, and everything once it has ended. Each call gives the same numbers to the same events.
 */
export function derivedEvents(record: Pick<ResponseRecord, 'startedAt' | 'end'>): LoggedEvent[] {
  const types: string[] = ['response.created', 'response.queued'];
  if (record.startedAt !== undefined) types.push('response.in_progress');
  const events = types.map((type, sequenceNumber) => ({ sequenceNumber, json: `{"type":"${type}"}` }));
  if (!record.end) return events;
  for (const { type, ...members } of deriveEvents(record.end)) {
    const sequenceNumber = events.length;
    events.push({
      sequenceNumber,
      json: JSON.stringify({ type, sequence_number: sequenceNumber, ...members }),
    });
  }
  events.push({ sequenceNumber: events.length, json: `{"type":"${eventTypeOf(record.end.status)}"}` });
  return events;
}
