import type { LongTexts } from '@sluice/response-store';

/** An event as one reader is sent it. */
export interface SentEvent {
  type: string;
  sequenceNumber: number;
  json: string;
  /** The long texts that marks in its JSON stand for. */
  texts?: LongTexts | undefined;
}

/**
 * Where the events of one response go: an event stream over HTTP is one, a frame of a socket may be another. Delivery
 * knows nothing else of its reader.
 */
export interface EventSink {
  /** Aborted when nobody reads any more, by whichever sign that shows first. */
  readonly gone: AbortSignal;
  /**
   * Sends events, and waits while the reader is slower than we are. Rejects when the reader is gone, or takes nothing for
   * too long. `isLatest` says that there is nothing behind these events yet.
   */
  write(events: readonly SentEvent[], isLatest: boolean): Promise<void>;
  /** Everything there is has been sent, and the next event is waited for. Called any number of times. */
  caughtUp(): void;
  /** Sets what is sent again while nothing else is: the latest life-cycle event, under the last number, unless it is large. */
  repeatWhileSilent(event: () => SentEvent | undefined): void;
  /** Sets what a remark says that is no event, now and then while nothing else is sent; undefined for nothing. */
  remarkWhileSilent(remark: () => Promise<string | undefined>): void;
  /** The last event was sent. */
  end(): void;
  /** Nothing more comes, although the last event was not sent: the reader is not told that it has everything. */
  cut(): void;
}
