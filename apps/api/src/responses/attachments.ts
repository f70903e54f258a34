import type { EndWait } from '@sluice/response-store';
import type { Caller } from './caller.ts';
import type { Departure } from './caller.ts';
import type { AttachedResponse, EarlyEnds } from './early-ends.ts';

/** How somebody stopped following a response. */
export type AttachmentEnd =
  /** All of it was delivered. */
  | 'whole'
  /** It has ended, and its caller could not be given the answer. */
  | 'undelivered'
  /** It was deleted under its reader. */
  | 'gone'
  /** It asked for what there is, got it, and will probably ask for more: it has a grace to do so. */
  | 'may_return'
  /** It was never accepted, or is followed under another id. */
  | 'not_accepted'
  | Departure;

/** One caller of this process that follows a response. Its owner closes it. */
export interface Attachment extends AttachedResponse {
  /** Closes the attachment. Closing it again does nothing. */
  close(end: AttachmentEnd): void;
}

/**
 * Counts the callers of this process that follow each response. The store knows processes, not callers: it is told that
 * this process has left when its last caller has.
 */
export class Attachments {
  readonly #count = new Map<string, number>();
  readonly #ends: Pick<EarlyEnds, 'callerLeft' | 'delivered'>;

  constructor(ends: Pick<EarlyEnds, 'callerLeft' | 'delivered'>) {
    this.#ends = ends;
  }

  /** Opens an attachment. Open it before the store is told, so that no other caller's end takes this process off the response. */
  open(response: AttachedResponse): Attachment {
    const { responseId } = response;
    this.#count.set(responseId, (this.#count.get(responseId) ?? 0) + 1);
    let isOpen = true;
    const attachment: Attachment = {
      ...response,
      close: (end) => {
        if (!isOpen) return;
        isOpen = false;
        this.#close(attachment, end);
      },
    };
    return attachment;
  }

  isAttached(responseId: string): boolean {
    return this.#count.has(responseId);
  }

  #close(response: AttachedResponse, end: AttachmentEnd): void {
    const { responseId } = response;
    const left = (this.#count.get(responseId) ?? 1) - 1;
    if (left > 0) {
      this.#count.set(responseId, left);
      return;
    }
    this.#count.delete(responseId);
    const isStillGone = () => !this.isAttached(responseId);
    if (end === 'whole') this.#ends.delivered(response, isStillGone);
    else if (end === 'undelivered') this.#ends.delivered(response, isStillGone, { hasAnswer: false });
    // The same grace as for a caller that is cut off.
    else if (end === 'may_return') this.#ends.callerLeft(response, 'interrupted', isStillGone);
    else if (end === 'caller_left' || end === 'interrupted') {
      this.#ends.callerLeft(response, end, isStillGone);
    }
  }
}

/** How a caller that waited for the whole response stopped: with its answer, or without one. */
export function endOfWait(
  wait: EndWait | undefined,
  { presence }: Pick<Caller, 'presence'>,
  { hasAnswer }: { hasAnswer: boolean },
): AttachmentEnd {
  if (wait?.settledAs?.kind === 'ended') return hasAnswer ? 'whole' : 'undelivered';
  return presence.departure ?? 'caller_left';
}

/** Ends what a caller has open for a response. */
export function closesBoth(source: { close: () => void }, attachment: Attachment): Attachment['close'] {
  return (end) => {
    source.close();
    attachment.close(end);
  };
}
