import { Job, type JobJson, type JobProgress, Queue } from 'bullmq';

/**
 * A job that does not keep its id a second time among its options. No value of it is then longer than 64 bytes, up to which Redis keeps a
 * hash in one piece (`hash-max-listpack-value`): a job takes half the memory, as long as it waits and as long as it is kept.
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

/** A queue of lean jobs. `Job` is the place that BullMQ has for a class of one's own. */
export class LeanQueue extends Queue {
  protected override get Job(): typeof Job {
    return LeanJob;
  }
}
