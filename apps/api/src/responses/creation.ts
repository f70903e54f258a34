import type { ResponseEnd } from '@sluice/contract';
import type { TenantUse } from '@sluice/response-store';
import type { NewResponse } from './accept-response.ts';
import type { Answer } from './answer.ts';
import type { PresentationOptions } from './event-presentation.ts';
import type { EventSink } from './event-sink.ts';

/** A response that is to be created, and what its caller is told. */
export interface Creation extends NewResponse {
  /**
   * Called when an Idempotency-Key stands for a response already, before that is looked at. It may throw: the store has limited nothing, and the
   * response goes on for as long as its caller may be away.
   */
  onDuplicate?: () => void;
  /** Called once it is certain that there is a response, before its body, its first event or its error. */
  onAccepted: (facts: AnswerFacts) => void;
  /**
   * Called with a whole response before the caller detaches from it: all of it can still be read, also where it is not
   * stored. It frees the answer, also when it rejects.
   */
  onWhole?: (answer: Answer) => Promise<void>;
}

/** A stream that is to be continued without the store. */
export interface StreamCreation extends Creation {
  presentation: PresentationOptions;
  /** Called with the end of the response, once its caller was sent it. */
  onEnd?: ((responseId: string, end: ResponseEnd) => void) | undefined;
}

/** The facts of an answer that are known before its body. */
export interface AnswerFacts {
  responseId: string;
  /** Where the tenant stands with its limits; undefined where nothing was counted. */
  use: TenantUse | undefined;
  /** Whether an earlier request with the same key has brought the answer. */
  isReplayed: boolean;
}

export type Created =
  | { kind: 'response'; answer: Answer }
  /** The caller went away: there is nobody to answer. */
  | { kind: 'left' };

/** Opens the way to a caller of a stream, after `onAccepted`. */
export type OpenSink = () => EventSink;
