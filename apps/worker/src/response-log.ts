import type { ContentEvent, ResponseEnd, UnnumberedEvent } from '@sluice/contract';
import type {
  Claim,
  ClaimedRecord,
  RunFacts,
  FinishResult,
  HeldAttempt,
  LeaseState,
  ReleaseOptions,
  ResponseContext,
  WriterOptions,
} from '@sluice/response-store';

/** The writing side of one response, for as long as its lease is held. */
export interface AttemptWriter {
  write(event: UnnumberedEvent): void;
  /** Whether so much waits to be written that the producer should await a `flush`. */
  readonly isBehind: boolean;
  /** Characters of JSON that wait to be written. */
  readonly waitingCharacters: number;
  /** Resolves when all events are written or refused; rejects when a defect of ours prevents both. */
  flush(): Promise<void>;
  end(end: ResponseEnd, run?: RunFacts): Promise<FinishResult>;
}

/**
 * The log as an attempt needs it. The response store is one implementation, the one in the memory of a unit test
 * another; `test/response-log-conformance.ts` holds both.
 */
export interface ResponseLog {
  claim(responseId: string, token: string): Promise<Claim>;
  writer(record: ClaimedRecord, options: WriterOptions): AttemptWriter;
  /** Reads what the response continues from, oldest first. */
  readContext(record: ClaimedRecord): Promise<ResponseContext>;
  /** The server that ran a response, by its key among all; undefined for none that is known. */
  serverOf(responseId: string): Promise<string | undefined>;
  /** Reads every content event in the log so far. */
  readContentEvents(responseId: string): Promise<ContentEvent[]>;
  /** Gives the response back. */
  release(held: HeldAttempt, options: ReleaseOptions): Promise<boolean>;
  checkLeases(held: readonly { responseId: string; token: string }[]): Promise<LeaseState[]>;
}
