import { cancelled, nothingProduced } from '@sluice/contract';
import type { CancelReason } from '@sluice/response-store';
import type { BackgroundWork } from './background-work.ts';
import type { Departure } from './caller.ts';
import type { ResponsesDependencies } from './dependencies.ts';
import type { UnansweredSteps } from './unanswered-steps.ts';

/** How long the answer to a cancellation waits for the worker to obey, in milliseconds. */
const obeyWithinMs = 5_000;

/** A response that somebody of this process follows. */
export interface AttachedResponse {
  responseId: string;
  tenant: string;
  /** Whether it can be read after its end; true as long as that is not known. */
  isKept: boolean;
  /** Whether its caller can come back for it: by the id that a stream has told, or by an Idempotency-Key. */
  canReturn: boolean;
}

/** Every way in which an api process ends a response before its time. */
export class EarlyEnds {
  readonly #dependencies: ResponsesDependencies;
  readonly #background: BackgroundWork;
  readonly #steps: UnansweredSteps;

  constructor(
    dependencies: ResponsesDependencies,
    { background, steps }: { background: BackgroundWork; steps: UnansweredSteps },
  ) {
    this.#dependencies = dependencies;
    this.#background = background;
    this.#steps = steps;
  }

  /**
   * Takes this process off a response whose last caller here is gone. The response is cancelled, at once or after its grace,
   * unless it is in the background or another process has a caller. A caller that this process cuts off has a grace to come
   * back, if it can. The step is tried until the store answers or somebody attaches again: the lease of this process would
   * keep the response wanted otherwise.
   */
  callerLeft(
    { responseId, canReturn }: AttachedResponse,
    departure: Departure,
    isStillGone: () => boolean,
  ): void {
    const { store, settings } = this.#dependencies;
    const graceMs = departure === 'interrupted' && canReturn ? settings.recovery.retryGraceMs : 0;
    this.#steps.run(`leave ${responseId}`, async () => {
      if (!isStillGone()) return true;
      const left = await store.leave(responseId, { graceMs });
      if (left.kind === 'asked' && left.isQueued) await this.#cancelQueued(responseId);
      return true;
    });
  }

  /**
   * Erases an ended response that is not to be stored once its caller has all of it, unless others still read. Where the caller could not be
   * given it, its Idempotency-Key goes as well: nobody has the answer, so the same request runs afresh.
   */
  delivered(
    { responseId, tenant, isKept }: AttachedResponse,
    isStillGone: () => boolean,
    { hasAnswer = true } = {},
  ): void {
    if (isKept) return;
    const { store } = this.#dependencies;
    this.#background.run(async () => {
      if (isStillGone()) await store.eraseAfterReader(responseId, tenant, { withKey: !hasAnswer });
    });
  }

  /** Cancels a response whose caller has waited as long as it may, even if others still wait. */
  async timedOut(responseId: string): Promise<void> {
    await this.#askForEnd(responseId, 'timed_out');
  }

  /**
   * Cancels a response that this process is attached to, and waits for its end, which may be another one: the first to be
   * written counts. The response is still open only when no worker answered in time.
   *
   * @returns whether there was anything to cancel.
   */
  async cancel(responseId: string, reason: 'requested' | 'deleted'): Promise<boolean> {
    const { store } = this.#dependencies;
    const wait = store.awaitEnd(responseId);
    try {
      await store.attach(responseId);
      const isAsked = await this.#askForEnd(responseId, reason);
      if (isAsked) {
        wait.begin(obeyWithinMs);
        await wait.outcome;
      }
      return isAsked;
    } finally {
      wait.close();
    }
  }

  /**
   * Takes back a response that may have been accepted although its caller is told that it was not. It does not run on, unless
   * somebody else was told that it is accepted. The step is repeated until the store has answered and the accept can no
   * longer arrive.
   */
  abandon(responseId: string, acceptDeadline: number): void {
    const { store, telemetry } = this.#dependencies;
    this.#steps.run(`abandon ${responseId}`, async () => {
      const found = await store.abandon(responseId, acceptDeadline);
      if (found.kind === 'undecided') return false;
      if (found.kind === 'asked' && found.isQueued) await this.#cancelQueued(responseId);
      if (found.kind === 'asked' || found.kind === 'terminal') {
        telemetry.emit('response.taken_back', { responseId, hasBegun: found.hasBegun });
      }
      return true;
    });
  }

  async #askForEnd(responseId: string, reason: CancelReason): Promise<boolean> {
    const asked = await this.#dependencies.store.cancel(responseId, reason);
    if (asked.kind === 'asked' && asked.isQueued) await this.#cancelQueued(responseId);
    return asked.kind === 'asked';
  }

  /**
   * Ends a response that no worker has taken, and removes its job. It leaves one alone that a worker has taken by now.
   *
   * Without an answer the response may have ended, and whoever asks again finds that. A job that waits for a place of its tenant
   * would stay for a day then, so this is repeated until the store has answered.
   */
  async #cancelQueued(responseId: string): Promise<void> {
    try {
      await this.#endQueued(responseId);
    } catch (error) {
      this.#steps.run(`end ${responseId}`, async () => {
        await this.#endQueued(responseId);
        return true;
      });
      throw error;
    }
  }

  async #endQueued(responseId: string): Promise<void> {
    const { store, queue } = this.#dependencies;
    const found = await store.endIfQueued(responseId, cancelled(nothingProduced));
    if ('queue' in found && found.queue !== undefined) await queue.remove(found.queue, responseId);
  }
}
