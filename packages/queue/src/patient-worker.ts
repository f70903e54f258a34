import { type Job, Worker } from 'bullmq';

/**
 * Longest read that waits for a job, in seconds. BullMQ would wait for up to ten until a delayed job is due, and a
 * connection that hears nothing for some seconds counts as dead (`runtime/src/redis-heartbeat.ts`). A closing worker
 * can hold a slot of the global concurrency for this long.
 */
export const longestBlockSeconds = 1;

/** How long it waits after an error of the store, in milliseconds. */
const afterErrorMs = 500;

/**
 * A BullMQ worker that never waits long for a job, and waits after each error of the store. BullMQ waits after those that it
 * knows as errors of a connection, and asks again at once after all others: a store without memory would be asked as fast as it
 * answers, by every worker.
 */
export class PatientWorker<Data> extends Worker<Data> {
  override get maximumBlockTimeout(): number {
    return longestBlockSeconds;
  }

  protected override async moveToActive(
    ...args: Parameters<Worker<Data>['moveToActive']>
  ): Promise<Job<Data>> {
    try {
      return await super.moveToActive(...args);
    } catch (error) {
      if (this.closing === undefined) await this.delay(afterErrorMs);
      throw error;
    }
  }
}
