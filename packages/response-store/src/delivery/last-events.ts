import { errorEvent, eventTypeOf, type ResponseEnd } from '@sluice/contract';
import type { LoggedEvent } from '../reading/read-events.ts';
import { lifecycleEvent, numberedEvent } from '../transitions/numbered-event.ts';

/** The events that tell an end, as a log keeps them. */
export function lastEvents({ status, error }: ResponseEnd, first: number): LoggedEvent[] {
  const told = error ? [{ sequenceNumber: first, json: numberedEvent(errorEvent(error), first) }] : [];
  return [...told, { sequenceNumber: first + told.length, json: lifecycleEvent(eventTypeOf(status)) }];
}
