import type { UnnumberedEvent } from '@sluice/contract';

/** An event as the log keeps it: `type` first, which readers find without parsing, and its place in the log for good. */
export function numberedEvent(event: UnnumberedEvent, sequenceNumber: number): string {
  return JSON.stringify(numbered(event, sequenceNumber));
}

/** An event of the life cycle as the log keeps it: its type alone. */
export function lifecycleEvent(type: string): string {
  return `{"type":"${type}"}`;
}

/** The same as `numberedEvent`, before it is printed. */
export function numbered({ type, ...members }: UnnumberedEvent, sequenceNumber: number): object {
  return { type, sequence_number: sequenceNumber, ...members };
}
