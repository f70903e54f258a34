import { ServiceError } from '@sluice/contract';

/** The most that a connection may have waiting. */
const laneLimits = {
  /** Turns that run or wait, over all lanes. */
  outstanding: 64,
  /** Turns that wait in the lane of the frames without a `stream_id`. */
  waitingWithoutStream: 32,
  /** Different `stream_id`s in the life of a connection. */
  streams: 128,
} as const;

/** A lane: the `stream_id` of its frames, undefined for frames without one. */
export type Lane = string | undefined;

/** The order of the turns of one connection: those of a lane one after the other, lanes beside each other. */
export class TurnLanes<Turn> {
  /** The turns that wait behind the one that runs; a lane without an entry runs nothing. */
  readonly #waiting = new Map<Lane, Turn[]>();
  readonly #streams = new Set<string>();
  #outstanding = 0;

  get isIdle(): boolean {
    return this.#outstanding === 0;
  }

  /**
   * Adds a turn. True if it is to run now, and false if it waits for `next`.
   *
   * @throws {ServiceError} when the connection has too many; nothing is added then.
   */
  add(lane: Lane, turn: Turn): boolean {
    const waiting = this.#waiting.get(lane);
    const isFull = lane === undefined && (waiting?.length ?? 0) >= laneLimits.waitingWithoutStream;
    if (isFull || this.#outstanding >= laneLimits.outstanding) {
      throw new ServiceError('too_many_queued_requests');
    }
    if (lane !== undefined && !this.#streams.has(lane)) {
      if (this.#streams.size >= laneLimits.streams) throw new ServiceError('websocket_stream_limit_reached');
      this.#streams.add(lane);
    }
    this.#outstanding += 1;
    if (!waiting) {
      this.#waiting.set(lane, []);
      return true;
    }
    waiting.push(turn);
    return false;
  }

  /** Ends the turn that runs in a lane. Returns the one that runs now, if another waited. */
  next(lane: Lane): Turn | undefined {
    this.#outstanding -= 1;
    const next = this.#waiting.get(lane)?.shift();
    if (next === undefined) this.#waiting.delete(lane);
    return next;
  }

  /** Takes out every turn that waits. */
  takeWaiting(): Turn[] {
    const taken: Turn[] = [];
    for (const waiting of this.#waiting.values()) taken.push(...waiting.splice(0));
    this.#outstanding -= taken.length;
    return taken;
  }
}
