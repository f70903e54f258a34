/**
 * Why an attempt is ended from outside. One signal carries the reason to every wait.
 *
 * - `cancelled`: somebody asked for the end, or nobody waits any more
 * - `timed_out`: the response had all the time it may have
 * - `interrupted`: this process stops
 * - `superseded`: another attempt holds the lease
 * - `out_of_touch`: the store has been silent for so long that another attempt may hold the lease
 * - `events_lost`: the store has lost events that were written, as a failover may, and takes no others
 * - `unwritable`: events could not be written for a reason of our own
 */
export type AbortReason =
  | 'cancelled'
  | 'timed_out'
  | 'interrupted'
  | 'superseded'
  | 'out_of_touch'
  | 'events_lost'
  | 'unwritable';

export class AttemptAborted extends Error {
  readonly reason: AbortReason;

  constructor(reason: AbortReason) {
    super(`The attempt was ended: ${reason}`);
    this.name = 'AttemptAborted';
    this.reason = reason;
  }
}

/** The typed reason of an aborted signal. Anything else that ends up there is a defect of ours. */
export function abortReason(signal: AbortSignal): AbortReason {
  const reason: unknown = signal.reason;
  if (reason instanceof AttemptAborted) return reason.reason;
  throw new TypeError('A signal was aborted without a typed reason', { cause: reason });
}
