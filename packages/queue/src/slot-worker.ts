import { PatientWorker } from './patient-worker.ts';

/** A BullMQ worker whose slots can change while it runs. */
export class SlotWorker extends PatientWorker<{ id: string }> {
  /** Runs so many jobs at once from now on, and one at least. */
  setConcurrency(concurrency: number): void {
    const isMore = concurrency > this.concurrency;
    this.concurrency = Math.max(concurrency, 1);
    // A loop with all slots taken looks at the number again when a job ends, which may take long. `resume` of BullMQ wakes it in the same way,
    // but a loop that is just about to end behind a pause does not wake again.
    const loop = Reflect.get(this, 'mainLoopQueue') as
      | { add: (promise: Promise<void>) => void }
      | null
      | undefined;
    if (isMore) loop?.add(Promise.resolve());
  }
}
