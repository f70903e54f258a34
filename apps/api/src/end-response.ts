import { cancelled, isTerminal, nothingProduced } from '@sluice/contract';
import {
  abandon,
  attach,
  cancel,
  endQueued,
  erase,
  leave,
  readRecord,
  type ResponseRecord,
} from '@sluice/event-log';
import { loggedError, pause } from '@sluice/runtime';
import type { BackgroundWork } from './background-work.ts';
import type { ServiceDependencies } from './service-dependencies.ts';

/** Between two tries of what must reach the store, in milliseconds. */
const retryEveryMs = 500;

/** How long the answer to a cancellation waits for the worker to obey, in milliseconds. */
const obeyWithinMs = 5_000;

/** Every way in which an api process ends a response before its time. */
export class EndResponse {
  readonly #dependencies: ServiceDependencies;
  readonly #background: BackgroundWork;

  constructor(dependencies: ServiceDependencies, background: BackgroundWork) {
    this.#dependencies = dependencies;
    this.#background = background;
  }

  /**
   * A caller of this process is gone. When it was the last one and the response is not in the background, it is
   * cancelled, at once or after its grace. Tried until the store answers: the lease of this process would keep
   * the response wanted otherwise.
   */
  callerLeft(responseId: string, options: { isInterrupted: boolean }): void {
    const { redis, keys, apiProcess, relay, settings } = this.#dependencies;
    // Somebody else of this process may follow the same response.
    if (relay.hasListener(responseId)) return;
    const graceMs = options.isInterrupted ? settings.recovery.retryGraceMs : 0;
    this.#untilAnswered(responseId, async () => {
      if (relay.hasListener(responseId)) return;
      const left = await leave(redis, keys, responseId, { apiProcess, graceMs });
      if (left.kind === 'asked' && left.isQueued) await this.#cancelQueued(responseId);
    });
  }

  /** A caller waited as long as it may: the response is cancelled, whoever else waits. */
  async timedOut(responseId: string): Promise<void> {
    const { redis, keys } = this.#dependencies;
    const asked = await cancel(redis, keys, responseId, 'timed_out');
    if (asked.kind === 'asked' && asked.isQueued) await this.#cancelQueued(responseId);
  }

  /**
   * Cancels a response and waits for its end, which may be another one: the first to be written counts.
   *
   * @returns the record as it stands then; still open only when no worker answered in time.
   */
  async cancel(record: ResponseRecord, reason: 'requested' | 'deleted'): Promise<ResponseRecord | undefined> {
    const { redis, keys, relay, apiProcess } = this.#dependencies;
    if (isTerminal(record.status)) return record;
    const pending = relay.awaitEnd(record.id);
    try {
      await attach(redis, keys, record.id, apiProcess);
      const asked = await cancel(redis, keys, record.id, reason);
      if (asked.kind === 'asked' && asked.isQueued) await this.#cancelQueued(record.id);
      if (asked.kind === 'asked') await ended(pending.ended(AbortSignal.timeout(obeyWithinMs)));
    } finally {
      pending.close();
      this.callerLeft(record.id, { isInterrupted: false });
    }
    return readRecord(redis, keys, record.id);
  }

  /** Takes a response away for good; one that still runs is cancelled first. */
  async remove(record: ResponseRecord): Promise<void> {
    const { redis, keys } = this.#dependencies;
    await this.cancel(record, 'deleted');
    await erase(redis, keys, record.id, record.tenant);
  }

  /** The caller of a response that is not to be stored has all of it: nothing is kept, unless others still read. */
  delivered(record: { id: string; tenant: string; isStored: boolean }): void {
    const { redis, keys, apiProcess, relay } = this.#dependencies;
    if (record.isStored || relay.hasListener(record.id)) return;
    this.#background.run(async () => {
      await erase(redis, keys, record.id, record.tenant, apiProcess);
    });
  }

  /** Takes back what may have been accepted although its caller is told that it was not, until the store has answered. */
  abandon(responseId: string): void {
    const { redis, keys } = this.#dependencies;
    this.#untilAnswered(responseId, async () => {
      const asked = await abandon(redis, keys, responseId);
      if (asked.kind === 'asked' && asked.isQueued) await this.#cancelQueued(responseId);
    });
  }

  /** Does something that must reach the store, as often as that needs; given up only when the process stops. */
  #untilAnswered(responseId: string, work: () => Promise<void>): void {
    const { logger } = this.#dependencies;
    this.#background.run(async (stopping) => {
      for (;;) {
        try {
          await work();
          return;
        } catch (error) {
          if (stopping.aborted) throw error;
          logger.debug({ responseId, err: loggedError(error) }, 'no answer from the store: trying again');
          await pause(retryEveryMs, stopping);
        }
      }
    });
  }

  /** Writes the end of a response that no worker has taken, and takes its job away. Nothing, if one has by now. */
  async #cancelQueued(responseId: string): Promise<void> {
    const { redis, keys, settings, queue } = this.#dependencies;
    const record = await endQueued(redis, keys, responseId, cancelled(nothingProduced), settings.retention);
    if (record) await queue.remove(record.queue, responseId);
  }
}

/** Waits for an end that may not come in time. */
async function ended(end: Promise<unknown>): Promise<void> {
  try {
    await end;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'TimeoutError') throw error;
  }
}
