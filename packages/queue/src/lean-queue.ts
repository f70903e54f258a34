import { Job, type JobJson, type JobProgress, Queue } from 'bullmq';

/**
 * A job that does not keep its id a second time among its options. So no value of it is longer than 64 bytes, up to which
 * Redis keeps a hash in one piece (`hash-max-listpack-value`), and a job takes half the memory.
 */
class LeanJob<Data, Result, Name extends string, Progress extends JobProgress> extends Job<
  Data,
  Result,
  Name,
  Progress
> {
  override asJSON(): JobJson {
    const job = super.asJSON();
    const { jobId: _, ...opts } = job.opts;
    return { ...job, opts };
  }
}

/** A queue of lean jobs. BullMQ makes its jobs of the class that `Job` returns. */
export class LeanQueue extends Queue {
  protected override get Job(): typeof Job {
    return LeanJob;
  }
}
