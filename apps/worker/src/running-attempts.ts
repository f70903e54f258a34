import { type AbortReason, AttemptAborted } from './abort-reasons.ts';
import { type Cell, cellOf, type HeldAttempt, type ReleaseOptions } from '@sluice/response-store';
import type { ResponseLog } from './response-log.ts';

/** How often the leases of running responses are checked, in milliseconds. */
const checkMs = 1_000;

interface Running {
  token: string;
  controller: AbortController;
}

interface PendingRelease {
  held: HeldAttempt;
  options: ReleaseOptions;
}

export interface RunningAttemptsOptions {
  log: Pick<ResponseLog, 'checkLeases' | 'release'>;
  /** How long attempts go on while the store is silent, in milliseconds. */
  outageMs: number;
  onError: (error: unknown) => void;
  /** Called when there are claims to release once the store answers, and when there are none any more. */
  onReleases?: ((arePending: boolean) => void) | undefined;
}

/** Most responses whose claims are released in one turn, and most that wait for it. */
const mostReleasesAtOnce = 100;
const mostReleases = 10_000;

/**
 * The attempts that this process runs. It aborts those that were cancelled or superseded.
 *
 * A message tells of a cancellation at once. If the message is lost, a check of the record finds it within a second. The
 * check also finds that another attempt has taken over. While the store is silent nobody takes over from a process that
 * lives, so attempts go on and keep what they cannot write, up to a bound.
 */
export class RunningAttempts {
  readonly #running = new Map<string, Running>();
  readonly #options: RunningAttemptsOptions;
  #timer: NodeJS.Timeout | undefined;
  /** The check under way in each cell. */
  readonly #checking = new Map<Cell, Promise<void>>();
  readonly #interrupted = new AbortController();
  /** When each cell of the store last answered; absent while there is nothing to ask it about. */
  readonly #heardAt = new Map<Cell, number>();
  /**
   * Claims that this process may hold and does not use, by response and token. Until they are released, other workers leave
   * the response to this one.
   */
  readonly #releases = new Map<string, Map<string, PendingRelease>>();
  #arePending = false;

  constructor(options: RunningAttemptsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#check(), checkMs);
  }

  /** Resolves when nothing is checked any more. What is claimed then counts as lost with this process, so it tries once more to release. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#checking.values());
    const releases = Map.groupBy(this.#releases.keys(), cellOf);
    await Promise.all([...releases.values()].map((pending) => this.#releaseAll(pending)));
  }

  get size(): number {
    return this.#running.size;
  }

  /** Registers an attempt. The returned function removes it. */
  add(responseId: string, token: string, controller: AbortController): () => void {
    const running = { token, controller };
    this.#running.set(responseId, running);
    if (this.interrupted.aborted) this.abort(responseId, 'interrupted');
    return () => {
      if (this.#running.get(responseId) === running) this.#running.delete(responseId);
    };
  }

  abort(responseId: string, reason: AbortReason): void {
    this.#running.get(responseId)?.controller.abort(new AttemptAborted(reason));
  }

  /** Ends all attempts because the process stops, also those that are claimed already and register later. */
  interruptAll(): void {
    this.#interrupted.abort();
    for (const responseId of this.#running.keys()) this.abort(responseId, 'interrupted');
  }

  /** Aborted when this process ends all its attempts. */
  get interrupted(): AbortSignal {
    return this.#interrupted.signal;
  }

  /** Releases a claim once the store answers, unless another one has replaced it by then. */
  releaseLater({ id, token }: HeldAttempt, options: ReleaseOptions): void {
    const ofResponse = this.#releases.get(id) ?? new Map<string, PendingRelease>();
    ofResponse.set(token, { held: { id, token }, options });
    if (this.#releases.size < mostReleases) this.#releases.set(id, ofResponse);
    this.#tellReleases();
  }

  /**
   * Releases whichever claim of a response still stands, once the store answers. Their runs count. `isShown`: a reader may have seen output of
   * the last one.
   */
  releaseAllLater(
    responseId: string,
    { claims, isShown }: { claims: readonly string[]; isShown: boolean },
  ): void {
    for (const token of claims) this.releaseLater({ id: responseId, token }, { isCounted: true, isShown });
  }

  /** Releases the pending claims of a response, before it is claimed here again. Rejects while the store does not answer. */
  async settleReleases(responseId: string): Promise<void> {
    const ofResponse = this.#releases.get(responseId);
    if (!ofResponse) return;
    for (const { held, options } of ofResponse.values()) {
      await this.#options.log.release(held, options);
      ofResponse.delete(held.token);
    }
    // Another call may have released them first, and a new claim may wait for its release since.
    if (ofResponse.size === 0 && this.#releases.get(responseId) === ofResponse)
      this.#releases.delete(responseId);
    this.#tellReleases();
  }

  async #releaseAll(responseIds: readonly string[]): Promise<void> {
    try {
      for (let at = 0; at < responseIds.length; at += mostReleasesAtOnce) {
        const some = responseIds.slice(at, at + mostReleasesAtOnce);
        await Promise.all(some.map((responseId) => this.settleReleases(responseId)));
      }
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #tellReleases(): void {
    const arePending = this.#releases.size > 0;
    if (arePending === this.#arePending) return;
    this.#arePending = arePending;
    this.#options.onReleases?.(arePending);
  }

  #check(): void {
    const held = Map.groupBy(this.#running.keys(), cellOf);
    const releases = Map.groupBy(this.#releases.keys(), cellOf);
    const cells = new Set([...held.keys(), ...releases.keys()]);
    for (const cell of this.#heardAt.keys()) if (!cells.has(cell)) this.#heardAt.delete(cell);
    for (const cell of cells) {
      // A cell that does not answer holds up no other.
      if (this.#checking.has(cell)) continue;
      const check = this.#checkIn(cell, {
        running: held.get(cell) ?? [],
        released: releases.get(cell) ?? [],
      });
      this.#checking.set(
        cell,
        check.finally(() => this.#checking.delete(cell)),
      );
    }
  }

  async #checkIn(
    cell: Cell,
    { running, released }: { running: readonly string[]; released: readonly string[] },
  ): Promise<void> {
    const { log, outageMs, onError } = this.#options;
    const held = running.map((responseId) => ({
      responseId,
      token: this.#running.get(responseId)?.token ?? '',
    }));
    if (!this.#heardAt.has(cell)) this.#heardAt.set(cell, performance.now());
    try {
      const states = await log.checkLeases(held);
      this.#heardAt.set(cell, performance.now());
      held.forEach(({ responseId, token }, index) => {
        const state = states[index];
        if (this.#running.get(responseId)?.token !== token) return;
        if (state === 'cancelled' || state === 'superseded') this.abort(responseId, state);
      });
      const some = released.slice(0, mostReleasesAtOnce);
      await Promise.all(some.map((responseId) => this.settleReleases(responseId)));
    } catch (error) {
      const silentMs = performance.now() - (this.#heardAt.get(cell) ?? 0);
      if (silentMs >= outageMs) for (const responseId of running) this.abort(responseId, 'out_of_touch');
      onError(error);
    }
  }
}
