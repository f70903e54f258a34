export { BatchRunner, type BatchRunnerOptions } from './batch-runner.ts';
export { idsOfMessages, type ParsedLine, parseLine, type RawLine, type ReadLine } from './batch-lines.ts';
export { BatchStore, type BatchStoreOptions } from './batch-store.ts';
export { BatchRecords, type BatchRecordsOptions, keptMs } from './batch-records.ts';
export { Batches, type BatchesOptions, batchNotFound } from './batches.ts';
export {
  type BatchOwner,
  type LineAnswer,
  LineLeft,
  type LineRequest,
  type LineRun,
  type LineServer,
} from './line-server.ts';
export { ResultReader, type ResultPart } from './read-results.ts';
export { type BatchTokens, endOf, type KnownBatch, type ListedBatch } from './stored-batch.ts';
