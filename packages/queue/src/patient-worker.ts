import { type Job, Worker } from 'bullmq';

/** How long it waits after an error of the store, in milliseconds. */
const afterErrorMs = 500;

/**
 * A BullMQ worker that waits after each error of the store. BullMQ waits after those that it knows as errors of a connection, and asks again at once
 * after all others: a store without memory would be asked as fast as it answers, by every worker.
 */
export class PatientWorker<Data> extends Worker<Data> {
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
