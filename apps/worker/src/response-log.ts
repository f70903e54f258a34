import type { ContentEvent, ResponseEnd, UnnumberedEvent } from '@sluice/contract';
import type { Claim, ClaimedRecord, Context, EndResult, LeaseState } from '@sluice/event-log';

/** The writing side of one response, for as long as its lease is held. */
export interface AttemptWriter {
  write(event: UnnumberedEvent): void;
  /** Whether so much waits to be written that its producer should wait for a `flush`. */
  readonly isBehind: boolean;
  flush(): Promise<void>;
  end(end: ResponseEnd): Promise<EndResult>;
}

export interface WriterOptions {
  onRefused: (reason: 'superseded' | 'cancelled') => void;
  signal: AbortSignal;
}

/** The log as an attempt needs it; `main.ts` knows what stands behind it. */
export interface ResponseLog {
  claim(responseId: string, token: string): Promise<Claim>;
  writer(record: ClaimedRecord, token: string, options: WriterOptions): AttemptWriter;
  /** What the response continues from, oldest first. */
  context(record: ClaimedRecord): Promise<Context>;
  /** Every content event in the log so far. */
  contentEvents(responseId: string): Promise<ContentEvent[]>;
  release(responseId: string, token: string): Promise<boolean>;
  checkLeases(held: readonly { responseId: string; token: string }[]): Promise<LeaseState[]>;
}
