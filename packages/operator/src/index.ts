export { type Asker, type AskedAct } from './audit/audit.ts';
export { ResponseIndex, type ResponseIndexOptions } from './index/response-index.ts';
export { makeOperator, type Operator, type OperatorOptions } from './operator.ts';
export { drainQueue } from './queues/drain-queue.ts';
export { heardProcesses } from './reports/process-report.ts';
export { type ReadQueue, readQueues, slotsOf } from './reports/queue-report.ts';
export type { MatchingResponses } from './responses/matching-responses.ts';
export type { TailReader } from './responses/response-tails.ts';
export type { Deliveries, DeliveryFilter } from './webhooks/webhook-acts.ts';
