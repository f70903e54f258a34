export type { QueueDepth } from './queue-depth.ts';
export type { Outcome } from './outcome.ts';
export { queueName, queuePrefix } from './queue-names.ts';
export { ResponseQueue, type ResponseQueueOptions } from './response-queue.ts';
export type { Mistimed } from './mistimed-job.ts';
export type { QueueBacklog, QueueCounts, QueueRoom } from './queue-figures.ts';
export { queuesOfCells, type ResponseQueues } from './queues-of-cells.ts';
export { DividedLimits, type DividedLimitsOptions } from './slots/divided-limits.ts';
export type { Limits } from './slots/told-limits.ts';
export { readFairShares } from './slots/fair-shares.ts';
export { type CellOfQueues, type QueueDemand, readDemand } from './slots/queue-demand.ts';
export { divide } from './slots/divide.ts';
export { QueueConsumer, type QueueConsumerOptions } from './queue-consumer.ts';
export { QueueKeeper, type QueueKeeperOptions } from './queue-keeper.ts';
export { RegularLook } from './regular-look.ts';
export { QueueWatchdog, type QueueWatchdogOptions } from './queue-watchdog.ts';
export {
  DeliveryQueue,
  type DeliveryQueueOptions,
  type KeptDelivery,
} from './delivery-queue.ts';
export { DeliveryConsumer, type DeliveryConsumerOptions, type Verdict } from './delivery-consumer.ts';
