import type { UnnumberedEvent } from '@sluice/contract';

/** An event as the log keeps it: `type` first, which readers find without parsing, and its place in the log for good. */
export function numberedEvent(event: UnnumberedEvent, sequenceNumber: number): string {
  return JSON.stringify(numbered(event, sequenceNumber));
}

/** The same before it is printed. */
export function numbered({ type, ...members }: UnnumberedEvent, sequenceNumber: number): object {
  return { type, sequence_number: sequenceNumber, ...members };
}
