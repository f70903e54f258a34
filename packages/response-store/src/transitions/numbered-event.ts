import type { UnnumberedEvent } from '@sluice/contract';

/** An event as the log keeps it: `type` first, which readers find without parsing, and its place in the log for good. */
export function numberedEvent({ type, ...members }: UnnumberedEvent, sequenceNumber: number): string {
  return JSON.stringify({ type, sequence_number: sequenceNumber, ...members });
}
