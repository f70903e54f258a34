/** Jobs by BullMQ's states, as the metrics show them. */
export type QueueCounts = Record<
  'waiting' | 'active' | 'delayed' | 'completed' | 'failed' | 'paused',
  number
>;

/** The backlog of a queue. */
export interface QueueBacklog {
  /** Jobs that wait, those that wait for a time included. */
  waiting: number;
  active: number;
  isPaused: boolean;
  /** How long ago the job that is next was added, in milliseconds by the local clock; undefined when none waits. */
  oldestWaitMs: number | undefined;
}

/** Figures that tell whether a worker with a free slot should have taken a job. */
export interface QueueRoom {
  /** Jobs that a worker could take now, but for the limit. */
  waiting: number;
  isPaused: boolean;
  /** Whether fewer jobs run, over all workers, than the queue's limit allows, and no rate limit holds them back. */
  hasRoom: boolean;
}
